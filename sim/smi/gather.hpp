// SPDX-License-Identifier: Apache-2.0
// Endpoint of a gather, C++ model of rtl/smi/tw_gather.sv.
#pragma once

#include "common/skid.hpp"
#include "smi/endpoint.hpp"
#include "smi/packer.hpp"
#include "smi/synchs.hpp"
#include "smi/tree_neighbours.hpp"
#include "smi/unpacker.hpp"

namespace thalweg::smi {

/// Every kernel writes `count` elements; the root's reads all, in the order of ranks. The root grants one rank after another, each when
/// all elements of the previous one have arrived.
class Gather : public Endpoint {
 public:
  explicit Gather(const Config& config) : config_(config) {}

  [[nodiscard]] bool open_ready() const override { return state_ == State::closed; }
  [[nodiscard]] bool element_ready() const override {
    return left_ > 0 && (root_ ? own_.ready() : packer_.ready(packets_.ready()));
  }
  [[nodiscard]] bool data_ready() const override { return root_ && packets_.ready(); }
  [[nodiscard]] const Element* element() const override {
    if (root_ && part_ == open_.own) return own_.valid() ? &own_.front() : nullptr;
    return unpacker_.valid() ? &result_ : nullptr;
  }
  [[nodiscard]] const Packet* packet() const override { return out_.valid() ? &out_.front() : nullptr; }
  [[nodiscard]] bool idle() const override { return !moved_; }
  [[nodiscard]] std::string waits() const override {
    if (state_ == State::closed) return "";
    if (state_ == State::tree) return "its position in the tree";
    if (!out_.ready()) return "the network";
    if (element()) return "its kernel to take elements";
    if (root_) return part_ == open_.own ? "its kernel's elements" : "data of rank " + std::to_string(from_.rank);
    return packets_.valid() && !granted_ ? "synch of rank " + std::to_string(tree_.parent()) : "its kernel's elements";
  }

  void step(const Inputs& in) override {
    const bool accept = in.element && element_ready(), last = left_ == 1;
    const bool packets_ready = packets_.ready(), out_ready = out_.ready();
    const bool packed = packer_.part() && packets_ready;
    const bool root = root_, own_turn = root && part_ == open_.own;
    const Open* opens = open_ready() && in.open && in.open->count > 0 ? in.open : nullptr;
    Packer::Part from_rank;
    const Packer::Part* incoming = packer_.part();
    const bool receives = in.data && data_ready();
    if (receives) incoming = &(from_rank = {*in.data, false});

    bool uses = false, sends = false, loads = false, pops = false, moved = state_ == State::tree || accepts(in);
    Packet packet;
    switch (state_) {
      case State::closed:
        break;
      case State::tree:
        if (tree_.valid()) state_ = State::send;
        break;
      case State::send:
        packet = packets_.front().packet;
        packet.set_header(config_.rank, tree_.parent(), config_.port, Operation::gather, packet.count());
        if (packets_.valid()) {
          if (granted_)
            sends = pops = out_ready;
          else
            granted_ = uses = synchs_.available();
        } else if (left_ == 0 && packer_.empty()) {
          close(moved);
        }
        break;
      case State::grant:
        packet.set_header(config_.rank, from_.rank, config_.port, Operation::synch, 1);
        packet.set_grant(1);
        sends = from_.own != open_.own && out_ready;
        if (from_.own == open_.own) {
          moved = true;
          grant_next();
        } else if (sends) {
          state_ = State::get;
        }
        break;
      case State::get:
        if (expected_ > 0) break;
        moved = true;
        grant_next();
        break;
      case State::deliver:
        break;
    }
    if (root) {
      loads = packets_.valid() && unpacker_.ready(in.element_taken && !own_turn);
      pops = loads;
      if (receives) expected_ -= in.data->count();
      if (in.element_taken && --unread_ == 0) {
        unread_ = open_.count;
        ++part_;
      }
      if (state_ == State::deliver && part_ == open_.ranks) close(moved);
    }
    if (accept) --left_;
    if (opens) {
      open_ = *opens;
      root_ = open_.own == open_.root;
      state_ = root_ ? State::grant : State::tree;
      left_ = expected_ = unread_ = open_.count;
      part_ = 0;
      from_ = {0, open_.first};
      granted_ = false;
    }

    const Element own_element{accept ? in.element->data & element_bits(open_.size) : 0, false};
    own_.step(accept && root ? &own_element : nullptr, in.element_taken && own_turn);
    unpacker_.step(loads ? &packets_.front().packet : nullptr, open_.size, in.element_taken && !own_turn);
    result_.data = unpacker_.element();
    packets_.step(incoming, pops);
    packer_.step(accept && !root ? &in.element->data : nullptr, open_.size, open_.per_packet, last, packets_ready);
    out_.step(sends ? &packet : nullptr, in.packet_taken);
    tree_.step(opens && opens->own != opens->root ? opens : nullptr);
    synchs_.step(in.control, tree_.parent(), uses);
    moved_ = moved || packed || uses || sends || loads || pops || !synchs_.settled() || !tree_.settled();
  }

 private:
  enum class State { closed, tree, send, grant, get, deliver };

  void close(bool& moved) {
    moved = true;
    root_ = false;
    state_ = State::closed;
  }
  void grant_next() {
    state_ = from_.own + 1 == open_.ranks ? State::deliver : State::grant;
    from_ = from_.next(open_);
    expected_ = open_.count;
  }

  Config config_;
  State state_ = State::closed;
  Open open_;
  bool root_ = false;           ///< role, while a channel is open
  std::uint32_t left_ = 0;      ///< remaining elements of the kernel
  Member from_;                 ///< the rank granted by the root
  std::uint32_t expected_ = 0;  ///< elements still to arrive from it
  unsigned part_ = 0;           ///< member whose elements the root's kernel reads
  std::uint32_t unread_ = 0;    ///< elements of this member that the kernel has not read
  bool granted_ = false;        ///< the root's grant has arrived
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
