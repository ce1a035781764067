// SPDX-License-Identifier: Apache-2.0
// Packet buffers of a connection in the board's memory: packets to send or not yet acknowledged, and received packets
// for the engine, in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "core/types.hpp"
#include "ethernet/frame.hpp"

namespace thalweg::accl {

class SendWindow {
 public:
  struct Packet {
    std::vector<std::byte> bytes;
    Tick whole = 0;      ///< first cycle in which all of it is available
    unsigned words = 1;  ///< a session counts packets, so each counts as one word
  };

  /// `packets`: capacity.
  explicit SendWindow(std::size_t packets) : most_(packets) {}

  [[nodiscard]] std::size_t room() const { return most_ - packets_.size(); }
  /// Requires room().
  void add(Packet packet) { packets_.push_back(std::move(packet)); }
  [[nodiscard]] bool empty() const { return packets_.empty(); }
  [[nodiscard]] const Packet& front() const { return packets_.front(); }
  [[nodiscard]] const Packet& packet(std::size_t number) const { return packets_[number]; }
  /// The first cycle in which a packet is complete; kNever: not added yet.
  [[nodiscard]] Tick whole_at(std::size_t number) const {
    return number < packets_.size() ? packets_[number].whole : kNever;
  }
  /// Removes the front packet.
  void release(Tick) { packets_.pop_front(); }

 private:
  std::size_t most_;
  std::deque<Packet> packets_;
};

class ReceiveWindow {
 public:
  /// A datagram, and the ticks of its first word and its end.
  struct Content {
    ethernet::FrameRef frame{};
    Tick first = 0, end = 0;
  };

  std::function<void(const Content&)> next;  ///< called with each in-order packet, which the engine may take from then
                                             ///< on

  /// The engine has taken the next packet by this cycle.
  void leave(Tick cycle) { slots_[leaving_++ % slots_.size()].left = cycle; }

  // Interface for ethernet::Session; `number` counts packets of the session.

  void set_slots(unsigned slots) {
    slots_.assign(slots, {});
    in_order_ = leaving_ = left_ = 0;
  }
  [[nodiscard]] bool holds(std::uint64_t number) const {
    return number < in_order_ || static_cast<bool>(slots_[number % slots_.size()].content.frame);
  }
  void place(std::uint64_t number, const Content& content, Tick) {
    slots_[number % slots_.size()].content = content;
    while (holds(in_order_)) {
      Slot& slot = slots_[in_order_++ % slots_.size()];
      slot.left = kNever;
      next(std::exchange(slot.content, {}));
    }
  }
  [[nodiscard]] std::uint64_t in_order() const { return in_order_; }
  [[nodiscard]] Tick frame_left_at(std::uint64_t number) const { return slots_[number % slots_.size()].left; }
  [[nodiscard]] std::uint64_t frames_left(Tick now) {
    while (left_ < in_order_ && frame_left_at(left_) <= now) ++left_;
    while (left_ > 0 && in_order_ < left_ + slots_.size() && frame_left_at(left_ - 1) > now) --left_;
    return left_;
  }
  [[nodiscard]] Tick idle_from() const {
    if (slots_.empty() || in_order_ == 0) return 0;
    const Tick at = frame_left_at(in_order_ - 1);
    return at == kNever ? kNever : at + 1;
  }

 private:
  struct Slot {
    Content content{};
    Tick left = kNever;  ///< cycle in which the engine took the slot's last in-order packet
  };

  std::vector<Slot> slots_;
  std::uint64_t in_order_ = 0;  ///< number of in-order packets, taken or not
  std::uint64_t leaving_ = 0;   ///< number of packets taken, including those with a known future time
  std::uint64_t left_ = 0;
};

}  // namespace thalweg::accl
