// SPDX-License-Identifier: Apache-2.0
// Gives a kernel the elements that a rank sends, twin of rtl/smi/tw_pop.sv.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "common/skid.hpp"
#include "smi/endpoint.hpp"

namespace thalweg::smi {

/// Elements of eager packets are given as they come, so that a kernel need not wait for its channel to be open: it looks at their source.
/// Those with credits are given to an open channel alone, whose sender gets its credits back when half of them, or all of the message,
/// have been taken. A circuit's are given as eager ones.
class Pop final : public Endpoint {
 public:
  explicit Pop(const Config& config) : config_(config) {}

  [[nodiscard]] bool open_ready() const override { return !next_; }
  [[nodiscard]] bool element_ready() const override { return true; }  // its kernel gives none
  [[nodiscard]] bool data_ready() const override { return packets_.ready(); }
  [[nodiscard]] const Element* element() const override { return valid() ? &element_ : nullptr; }
  [[nodiscard]] const Packet* packet() const override { return out_.valid() ? &out_.front() : nullptr; }
  [[nodiscard]] bool idle() const override { return !moved_; }
  [[nodiscard]] std::string waits() const override {
    if (left_ <= 0 && taken_ == 0 && !next_) return "";
    if (!out_.ready()) return "the network";
    if (packets_.valid()) return "its kernel to take elements";
    return "data of rank " + std::to_string(open_.peer);
  }

  void step(const Inputs& in) override {
    const bool gives = valid() && in.element_taken;
    const bool first = begins_circuit();
    const bool ends =
        gives && (within_ > 0 ? within_ == 1 || index_ + 1 == payload_elements(config_.packet_bytes, config_.size)
                              : index_ + 1 == packets_.front().count());
    const bool returns = taken_ > 0 && (left_ <= 0 || taken_ >= std::max(1u, open_.window / 2)) && out_.ready();
    const Open* next = next_ ? &*next_ : in.open;
    const bool loads = left_ <= 0 && taken_ == 0 && next;
    Packet credits;
    credits.set_header(config_.rank, open_.peer, config_.port, Operation::synch, 1);
    credits.set_grant(taken_);
    moved_ =
        gives || first || returns || loads || in.packet_taken || (in.data && packets_.ready()) || (in.open && !next_);
    out_.step(returns ? &credits : nullptr, in.packet_taken);
    if (returns) taken_ = 0;
    if (gives) {
      --left_;
      index_ = ends ? 0 : index_ + 1;
      if (ends && credited()) ++taken_;
      if (within_ > 0) --within_;
    }
    if (first) within_ = packets_.front().circuit().elements, source_ = packets_.front().source();
    if (loads) {
      open_ = *next;
      left_ += open_.count;
      next_.reset();
    } else if (in.open && !next_) {
      next_ = *in.open;
    }
    packets_.step(in.data, ends || first);
    if (packets_.valid())
      element_ = {packets_.front().payload(index_, config_.size, config_.packet_bytes), false,
                  within_ > 0 ? source_ : packets_.front().source()};
  }

 private:
  [[nodiscard]] bool credited() const { return within_ == 0 && packets_.front().operation() == Operation::receive; }
  [[nodiscard]] bool begins_circuit() const {
    return packets_.valid() && within_ == 0 && packets_.front().operation() == Operation::circuit;
  }
  [[nodiscard]] bool valid() const { return packets_.valid() && !begins_circuit() && (left_ > 0 || !credited()); }

  Config config_;
  std::optional<Open> next_;
  Open open_;
  std::int64_t left_ = 0;    ///< elements of the channel; negative: given, and of channels to come
  std::uint32_t taken_ = 0;  ///< packets whose credits have not been returned
  Skid<Packet> packets_;
  unsigned index_ = 0;        ///< of the element
  std::uint32_t within_ = 0;  ///< elements of a circuit that are to come
  unsigned source_ = 0;       ///< the circuit's
  Element element_;
  Skid<Packet> out_;
  bool moved_ = false;
};

}  // namespace thalweg::smi
