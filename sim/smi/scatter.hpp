// SPDX-License-Identifier: Apache-2.0
// Endpoint of a scatter, C++ model of rtl/smi/tw_scatter.sv.
#pragma once

#include "common/skid.hpp"
#include "smi/endpoint.hpp"
#include "smi/packer.hpp"
#include "smi/synchs.hpp"
#include "smi/tree_neighbours.hpp"
#include "smi/unpacker.hpp"

namespace thalweg::smi {

/// The root's kernel writes `count` elements for each rank, in the order of ranks; each rank's kernel reads its own, the root's as soon as
/// it has written them. A rank's elements leave after the rank has announced that it is ready.
class Scatter : public Endpoint {
 public:
  explicit Scatter(const Config& config) : config_(config) {}

  [[nodiscard]] bool open_ready() const override { return state_ == State::closed; }
  [[nodiscard]] bool element_ready() const override {
    return packs_ && (part_ == open_.own ? own_.ready() : packer_.ready(packets_.ready()));
  }
  [[nodiscard]] bool data_ready() const override { return gets_ && packets_.ready(); }
  [[nodiscard]] const Element* element() const override {
    return unpacker_.valid() ? &result_ : own_.valid() ? &own_.front() : nullptr;
  }
  [[nodiscard]] const Packet* packet() const override { return out_.valid() ? &out_.front() : nullptr; }
  [[nodiscard]] bool idle() const override { return !moved_; }
  [[nodiscard]] std::string waits() const override {
    if (state_ == State::closed) return "";
    if (state_ == State::tree) return "its position in the tree";
    if (!out_.ready()) return "the network";
    if (element()) return "its kernel to take elements";
    if (gets_) return "data of rank " + std::to_string(tree_.parent());
    if (packets_.valid() && !granted_) return "synch of rank " + std::to_string(to_.rank);
    return "its kernel's elements";
  }

  void step(const Inputs& in) override {
    const bool accept = in.element && element_ready(), own = part_ == open_.own, last = left_ == 1;
    const bool packets_ready = packets_.ready(), out_ready = out_.ready();
    const bool packed = packer_.part() && packets_ready;
    const Open* opens = open_ready() && in.open && in.open->count > 0 ? in.open : nullptr;
    Packer::Part from_root;
    const Packer::Part* incoming = packer_.part();
    if (in.data && data_ready()) incoming = &(from_root = {*in.data, false});

    bool uses = false, sends = false, loads = false, pops = false, moved = state_ == State::tree || accepts(in);
    Packet packet;
    switch (state_) {
      case State::closed:
        break;
      case State::tree:
        if (tree_.valid()) state_ = State::announce;
        break;
      case State::announce:
        packet.set_header(config_.rank, tree_.parent(), config_.port, Operation::synch, 1);
        packet.set_grant(1);
        sends = out_ready;
        if (sends) state_ = State::get;
        break;
      case State::get:
        loads = packets_.valid() && unpacker_.ready(in.element_taken);
        pops = loads;
        if (loads)
          left_ -= packets_.front().packet.count();
        else if (left_ == 0 && !unpacker_.valid())
          close(moved);
        break;
      case State::send:
        if (packets_.valid()) {
          packet = packets_.front().packet;
          packet.set_header(config_.rank, to_.rank, config_.port, Operation::scatter, packet.count());
          if (to_.own == open_.own) {
            to_ = to_.next(open_);
            moved = true;
          } else if (granted_) {
            sends = pops = out_ready;
            if (pops && packets_.front().last) {
              to_ = to_.next(open_);
              granted_ = false;
            }
          } else {
            granted_ = uses = synchs_.available();
          }
        } else if (!packs_ && packer_.empty() && !own_.valid()) {
          close(moved);
        }
        break;
    }
    if (accept) {
      --left_;
      if (last) {
        left_ = open_.count;
        packs_ = part_ + 1 != open_.ranks;
        ++part_;
      }
    }
    if (opens) {
      open_ = *opens;
      packs_ = open_.own == open_.root;
      gets_ = !packs_;
      state_ = packs_ ? State::send : State::tree;
      left_ = open_.count;
      part_ = 0;
      to_ = {0, open_.first};
    }

    const bool unpacked = unpacker_.valid();
    const Element own_element{accept ? in.element->data & element_bits(open_.size) : 0, false};
    own_.step(accept && own ? &own_element : nullptr, in.element_taken && !unpacked);
    unpacker_.step(loads ? &packets_.front().packet : nullptr, open_.size, in.element_taken);
    result_.data = unpacker_.element();
    packets_.step(incoming, pops);
    packer_.step(accept && !own ? &in.element->data : nullptr, open_.size, open_.per_packet, last, packets_ready);
    out_.step(sends ? &packet : nullptr, in.packet_taken);
    tree_.step(opens && opens->own != opens->root ? opens : nullptr);
    synchs_.step(in.control, to_.rank, uses);
    moved_ = moved || packed || uses || sends || loads || pops || !synchs_.settled() || !tree_.settled();
  }

 private:
  enum class State { closed, tree, announce, get, send };

  void close(bool& moved) {
    moved = true;
    packs_ = gets_ = false;
    state_ = State::closed;
  }

  Config config_;
  State state_ = State::closed;
  Open open_;
  bool packs_ = false, gets_ = false;  ///< packs_: root whose kernel still writes; gets_: another rank
  std::uint32_t left_ = 0;             ///< remaining elements of the current part, or of the root's packets
  unsigned part_ = 0;                  ///< destination member of the elements that the root's kernel writes
  Member to_;                          ///< destination of the packet at the front
  bool granted_ = false;               ///< its synch packet has arrived
  Packer packer_;
  Skid<Packer::Part> packets_;
  Skid<Element> own_;
  Unpacker unpacker_;
  Skid<Packet> out_;
  TreeNeighbours tree_;
  Synchs synchs_;
  Element result_;
  bool moved_ = false;
};

}  // namespace thalweg::smi
