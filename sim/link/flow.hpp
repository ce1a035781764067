// SPDX-License-Identifier: Apache-2.0
// Flow control of one virtual channel, C++ model of rtl/link/tw_flow.sv: a sender that tracks free buffer space, and a
// receiver that reports it. An event on the return path is one bit: a credit, or a change of the stop bit.
#pragma once

#include <cstdint>
#include <utility>

#include "core/types.hpp"
#include "link/share.hpp"

namespace thalweg {

enum class FlowControl : std::uint8_t {
  credits,  ///< one credit per free flit of buffer, returned one per cycle and port
  margin,   ///< stop bit upstream: set when free space falls to the margin, cleared above it
};

/// The sending side. Its outputs depend on the state alone.
class FlowSender {
 public:
  FlowSender() = default;
  FlowSender(FlowControl flow, unsigned depth)
      : credits_(flow == FlowControl::credits ? static_cast<std::uint16_t>(depth) : std::uint16_t{1}),
        counting_(flow == FlowControl::credits) {}

  [[nodiscard]] bool ready() const { return credits_ != 0; }
  /// Records a sent flit; requires ready().
  void send() { credits_ = static_cast<std::uint16_t>(credits_ - counting_); }
  /// Handles an event on the return path: one more credit, or a toggled stop bit.
  void event() { credits_ = static_cast<std::uint16_t>(counting_ ? credits_ + 1 : credits_ ^ 1); }

 private:
  std::uint16_t credits_ = 0;  ///< with margin: 1: go, 0: stop
  std::uint8_t counting_ = 0;  ///< 1 if credits are counted
};

/// The receiving side: counts the flits in its buffer.
class FlowReceiver {
 public:
  FlowReceiver() = default;
  FlowReceiver(FlowControl flow, unsigned depth, unsigned margin)
      : depth_(static_cast<std::uint16_t>(depth)),
        margin_(static_cast<std::uint16_t>(margin)),
        credits_(flow == FlowControl::credits) {}

  [[nodiscard]] unsigned held() const { return held_; }
  [[nodiscard]] bool full() const { return held_ == depth_; }

  // One clock edge: at most one flit in, at most one out, then update().
  void push() { ++held_; }
  void pop() { --held_; }
  /// True if an event is returned; `popped`: a flit left the buffer. The stop bit is a register: set if the free space
  /// after this edge is at most the margin.
  [[nodiscard]] bool update(bool popped) {
    if (credits_) return popped;
    const bool stop = depth_ - held_ <= margin_;
    return stop != std::exchange(stop_, stop);
  }

 private:
  std::uint16_t held_ = 0;
  std::uint16_t depth_ = 0;
  std::uint16_t margin_ = 0;
  bool credits_ = true;
  bool stop_ = false;
};

/// Least margin at which a buffer cannot overflow: flits sent until the stop bit has reached the sender, at most one
/// per cycle. `latency` is the link's, one way; the sender's switch stage and its own register add one each.
[[nodiscard]] constexpr Tick least_margin(Tick latency, const Share& share = {}) {
  return share.most(2 * latency + share.delay() + 1);
}

}  // namespace thalweg
