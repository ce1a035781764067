// SPDX-License-Identifier: Apache-2.0
// Sends a kernel's elements to a rank, twin of rtl/smi/tw_push.sv.
#pragma once

#include <optional>
#include <string>

#include "common/skid.hpp"
#include "smi/endpoint.hpp"
#include "smi/packer.hpp"

namespace thalweg::smi {

/// A packet leaves when it is full, at the message's end, or where an element asks for it. With a window, a packet begins only with
/// a credit, and the next channel when all have come back; its operation is `receive`, that of others `send`. A circuit's first packet
/// leaves behind its first element; what follows are full packets.
class Push final : public Endpoint {
 public:
  explicit Push(const Config& config) : config_(config), packer_(config.packet_bytes) {}

  [[nodiscard]] bool open_ready() const override { return !next_; }
  [[nodiscard]] bool element_ready() const override {
    return left_ > 0 && packer_.ready(out_.ready() && !announces_) && (!begins() || open_.window == 0 || credits_ > 0);
  }
  [[nodiscard]] bool data_ready() const override { return true; }  // none is for it
  [[nodiscard]] const Element* element() const override { return nullptr; }
  [[nodiscard]] const Packet* packet() const override { return out_.valid() ? &out_.front() : nullptr; }
  [[nodiscard]] bool idle() const override { return !moved_; }
  [[nodiscard]] std::string waits() const override {
    if (left_ == 0 && !next_) return "";
    if (!out_.ready()) return "the network";
    if (left_ == 0 || (begins() && open_.window > 0 && credits_ == 0))
      return "credits of rank " + std::to_string(open_.peer);
    return "its kernel's elements";
  }

  void step(const Inputs& in) override {
    const bool accept = in.element && element_ready(), begin = accept && begins();
    const bool circuit = open_.packets > 0, announce = accept && circuit && left_ == open_.count;
    const bool ends = (left_ == 0 || (accept && left_ == 1)) && !announce && !announces_;
    const Open* next = next_ ? &*next_ : in.open;
    const bool loads = ends && next && under_way_ == 0 && !(begin && open_.window > 0);
    const bool last = accept && (left_ == 1 || (in.element->flush && !circuit));
    Packet packet;
    const bool leaves = (announces_ || packer_.part()) && out_.ready();
    if (announces_) {
      packet.set_circuit(config_.rank, peer_, config_.port, open_.packets, open_.count);
    } else if (packer_.part()) {
      packet = packer_.part()->packet;
      if (!payload_)
        packet.set_header(config_.rank, peer_, config_.port, credited_ ? Operation::receive : Operation::send,
                          packet.count());
    }
    moved_ = accept || loads || leaves || in.packet_taken || in.control || (in.open && !next_);
    const unsigned per_packet = circuit ? payload_elements(config_.packet_bytes, open_.size) : open_.per_packet;
    packer_.step(accept ? &in.element->data : nullptr, open_.size, per_packet, last, out_.ready() && !announces_,
                 circuit);
    out_.step(leaves ? &packet : nullptr, in.packet_taken);
    if (begin) peer_ = open_.peer, credited_ = open_.window > 0, payload_ = circuit;
    announces_ = announce || (announces_ && !leaves);
    if (accept) --left_;
    if (begin && open_.window > 0) --credits_, ++under_way_;
    if (in.control) {
      credits_ += in.control->grant();
      under_way_ -= in.control->grant();
    }
    if (loads) {
      open_ = *next;
      left_ = open_.count;
      credits_ = open_.window;
      next_.reset();
    } else if (in.open && !next_) {
      next_ = *in.open;
    }
  }

 private:
  /// Would an element be the first of a packet?
  [[nodiscard]] bool begins() const { return packer_.empty() || packer_.part(); }

  Config config_;
  std::optional<Open> next_;
  Open open_;
  std::uint32_t left_ = 0;
  std::uint32_t credits_ = 0, under_way_ = 0;  ///< packets
  unsigned peer_ = 0;                          ///< of the packet that is made
  bool credited_ = false, payload_ = false;    ///< it is
  bool announces_ = false;                     ///< a circuit's first packet is to leave
  Packer packer_;
  Skid<Packet> out_;
  bool moved_ = false;
};

}  // namespace thalweg::smi
