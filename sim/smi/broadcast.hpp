// SPDX-License-Identifier: Apache-2.0
// Endpoint of a broadcast, C++ model of rtl/smi/tw_broadcast.sv.
#pragma once

#include "common/skid.hpp"
#include "smi/endpoint.hpp"
#include "smi/packer.hpp"
#include "smi/synchs.hpp"
#include "smi/tree_neighbours.hpp"
#include "smi/unpacker.hpp"

namespace thalweg::smi {

/// The root's kernel writes `count` elements, and all other kernels read them. A rank announces that it is ready when all its children
/// have; a packet is copied to the children, one copy per cycle.
class Broadcast : public Endpoint {
 public:
  explicit Broadcast(const Config& config) : config_(config) {}

  [[nodiscard]] bool open_ready() const override { return state_ == State::closed; }
  [[nodiscard]] bool element_ready() const override { return root_ && left_ > 0 && packer_.ready(packets_.ready()); }
  [[nodiscard]] bool data_ready() const override { return gets_ && packets_.ready(); }
  [[nodiscard]] const Element* element() const override { return unpacker_.valid() ? &result_ : nullptr; }
  [[nodiscard]] const Packet* packet() const override { return out_.valid() ? &out_.front() : nullptr; }
  [[nodiscard]] bool idle() const override { return !moved_; }
  [[nodiscard]] std::string waits() const override {
    if (state_ == State::closed) return "";
    if (state_ == State::tree) return "its position in the tree";
    if (state_ == State::children) return "synch of rank " + std::to_string(child_.rank);
    if (!out_.ready()) return "the network";
    if (unpacker_.valid()) return "its kernel to take elements";
    return root_ ? "its kernel's elements" : "data of rank " + std::to_string(tree_.parent());
  }

  void step(const Inputs& in) override {
    const bool accept = in.element && element_ready(), last = left_ == 1;
    const bool packets_ready = packets_.ready(), out_ready = out_.ready();
    const bool packed = packer_.part() && packets_ready;
    const Open* opens = open_ready() && in.open && in.open->count > 0 ? in.open : nullptr;
    Packer::Part from_parent;
    const Packer::Part* incoming = packer_.part();
    if (in.data && data_ready()) incoming = &(from_parent = {*in.data, false});

    bool uses = false, sends = false, loads = false, pops = false, moved = state_ == State::tree || accepts(in);
    Packet copy;
    switch (state_) {
      case State::closed:
        break;
      case State::tree:
        if (!tree_.valid()) break;
        child_ = tree_.child();
        at_ = 0;
        state_ = tree_.children() > 0 ? State::children : root_ ? State::run : State::announce;
        break;
      case State::children:
        uses = synchs_.available();
        if (uses && next_child()) state_ = root_ ? State::run : State::announce;
        break;
      case State::announce:
        copy.set_header(config_.rank, tree_.parent(), config_.port, Operation::synch, 1);
        copy.set_grant(1);
        sends = out_ready;
        if (sends) state_ = State::run;
        break;
      case State::run:
        if (packets_.valid()) {
          copy = packets_.front().packet;
          copy.set_header(config_.rank, child_.rank, config_.port, Operation::broadcast, copy.count());
          sends = !copied_ && tree_.children() > 0 && out_ready;
          const bool copied = copied_ || tree_.children() == 0 || (sends && next_child());
          loads = gets_ && !delivered_ && unpacker_.ready(in.element_taken);
          const bool delivered = root_ || delivered_ || loads;
          pops = copied && delivered;
          copied_ = copied && !pops;
          delivered_ = delivered && !pops;
          if (pops && gets_) left_ -= copy.count();
        } else if (left_ == 0 && packer_.empty() && !unpacker_.valid()) {
          moved = true;
          root_ = gets_ = false;
          state_ = State::closed;
        }
        break;
    }
    if (accept) --left_;
    if (opens) {
      open_ = *opens;
      state_ = State::tree;
      root_ = open_.own == open_.root;
      gets_ = !root_;
      left_ = open_.count;
    }

    unpacker_.step(loads ? &packets_.front().packet : nullptr, open_.size, in.element_taken);
    result_.data = unpacker_.element();
    packets_.step(incoming, pops);
    packer_.step(accept ? &in.element->data : nullptr, open_.size, open_.per_packet, last, packets_ready);
    out_.step(sends ? &copy : nullptr, in.packet_taken);
    tree_.step(opens);
    synchs_.step(in.control, child_.rank, uses);
    moved_ = moved || packed || uses || sends || loads || pops || !synchs_.settled();
  }

 private:
  enum class State { closed, tree, children, announce, run };

  /// Advances to the next child, from the last to the first; true on wrap-around.
  bool next_child() {
    if (++at_ < tree_.children()) {
      child_ = child_.next(open_);
      return false;
    }
    child_ = tree_.child();
    at_ = 0;
    return true;
  }

  Config config_;
  State state_ = State::closed;
  Open open_;
  bool root_ = false, gets_ = false;  ///< role, while a channel is open
  std::uint32_t left_ = 0;            ///< remaining elements of the root's kernel, or of the parent's packets
  Packer packer_;
  Skid<Packer::Part> packets_;
  Unpacker unpacker_;
  Skid<Packet> out_;
  TreeNeighbours tree_;
  Synchs synchs_;
  Member child_;  ///< current child
  unsigned at_ = 0;
  bool copied_ = false, delivered_ = false;  ///< the packet at the front was copied to all children, to the kernel
  Element result_;
  bool moved_ = false;
};

}  // namespace thalweg::smi
