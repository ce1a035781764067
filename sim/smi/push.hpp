// SPDX-License-Identifier: Apache-2.0
// Endpoint that sends a kernel's elements to a rank, C++ model of rtl/smi/tw_push.sv.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "common/skid.hpp"
#include "smi/endpoint.hpp"
#include "smi/packer.hpp"

namespace thalweg::smi {

/// A packet leaves when it is full, at the message's end, or when an element requests a flush. With a window, a packet starts only with a
/// credit, and the next channel opens when all credits have returned; the operation of these packets is `receive`, of others `send`.
/// A message can be split into circuits. A circuit is a first packet with the number of following packets, and these packets, which
/// are full except for the message's last.
class Push final : public Endpoint, public Foresight<Element> {
 public:
  explicit Push(const Config& config) : config_(config), packer_(config.packet_bytes) {}

  [[nodiscard]] bool open_ready() const override { return !next_; }
  [[nodiscard]] bool element_ready() const override {
    return left_ > 0 && packer_.ready(out_.ready() && !announces_) && (!begins() || open_.window == 0 || credits_ > 0);
  }
  [[nodiscard]] bool data_ready() const override { return true; }  // unused: it receives no data
  [[nodiscard]] const Element* element() const override { return nullptr; }
  [[nodiscard]] const Packet* packet() const override { return out_.valid() ? &out_.front().packet : nullptr; }
  [[nodiscard]] bool packet_last() const override { return out_.front().last; }
  [[nodiscard]] bool idle() const override { return !moved_; }
  [[nodiscard]] std::string waits() const override {
    if (left_ == 0 && !next_) return "";
    if (!out_.ready()) return "the network";
    if (left_ == 0 || (begins() && open_.window > 0 && credits_ == 0))
      return "credits of rank " + std::to_string(open_.peer);
    return "its kernel's elements";
  }

  [[nodiscard]] Foresight<Element>* foresight() override { return this; }
  /// Foresees the elements of a packet between its first and its last.
  [[nodiscard]] bool pops(const Element& element) override {
    const unsigned per_packet = payload_ ? payload_elements(config_.packet_bytes, open_.size) : open_.per_packet;
    if (begins() || packer_.count() + 1 >= per_packet || left_ == 1 || element.flush) return false;
    packer_.step(&element.data, open_.size, per_packet, false, false, payload_);
    --left_;
    return true;
  }

  void step(const Inputs& in) override {
    const bool accept = in.element && element_ready(), begin = accept && begins();
    const bool circuit = config_.circuits > 0 && open_.packets > 0, announce = begin && circuit && follow_ == 0;
    const bool ends = left_ == 0 || (accept && left_ == 1);
    const Open* next = next_ ? &*next_ : in.open;
    const bool loads = ends && next && in_flight_ == 0 && !(begin && open_.window > 0);
    const bool last = accept && (left_ == 1 || (in.element->flush && !circuit));
    Packer::Part out;
    const bool leaves = (announces_ || packer_.part()) && out_.ready();
    if (announces_) {
      out.packet.set_circuit(config_.rank, peer_, config_.port, announced_, announced_elements_);
    } else if (packer_.part()) {
      out = {packer_.part()->packet, final_};
      if (!payload_)
        out.packet.set_header(config_.rank, peer_, config_.port, credited_ ? Operation::receive : Operation::send,
                              out.packet.count());
    }
    moved_ = accept || loads || leaves || in.packet_taken || in.control || (in.open && !next_);
    const unsigned per_packet = circuit ? payload_elements(config_.packet_bytes, open_.size) : open_.per_packet;
    packer_.step(accept ? &in.element->data : nullptr, open_.size, per_packet, last, out_.ready() && !announces_,
                 circuit);
    out_.step(leaves ? &out : nullptr, in.packet_taken);
    if (announce) {
      follow_ = announced_ = std::min(config_.circuits, packets_left_);
      announced_elements_ = announced_ == packets_left_ ? left_ : announced_ * per_packet;
      packets_left_ -= announced_;
    }
    if (begin && circuit) --follow_;
    if (begin) peer_ = open_.peer, credited_ = open_.window > 0, payload_ = circuit, final_ = follow_ == 0;
    announces_ = announce || (announces_ && !leaves);
    if (accept) --left_;
    if (begin && open_.window > 0) --credits_, ++in_flight_;
    if (in.control) {
      credits_ += in.control->grant();
      in_flight_ -= in.control->grant();
    }
    if (loads) {
      open_ = *next;
      left_ = open_.count;
      packets_left_ = open_.packets;
      credits_ = open_.window;
      next_.reset();
    } else if (in.open && !next_) {
      next_ = *in.open;
    }
  }

 private:
  /// True if the next element starts a packet.
  [[nodiscard]] bool begins() const { return packer_.empty() || packer_.part(); }

  Config config_;
  std::optional<Open> next_;
  Open open_;
  std::uint32_t left_ = 0;
  std::uint32_t credits_ = 0, in_flight_ = 0;  ///< available credits; packets in flight
  unsigned peer_ = 0;                          ///< destination of the current packet
  bool credited_ = false, payload_ = false;    ///< kind of the current packet
  bool final_ = true;                          ///< it is in no circuit, or the last one of its circuit
  std::uint32_t packets_left_ = 0;             ///< in circuits that have not started
  std::uint32_t follow_ = 0;                   ///< packets of the current circuit that have not started
  bool announces_ = false;                     ///< a circuit's first packet, with these numbers, is pending
  std::uint32_t announced_ = 0, announced_elements_ = 0;
  Packer packer_;
  Skid<Packer::Part> out_;
  bool moved_ = false;
};

}  // namespace thalweg::smi
