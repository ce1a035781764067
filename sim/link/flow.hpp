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
  credits,  ///< one credit per flit of free buffer, returned one a cycle and port
  margin,   ///< upstream is told to stop when free space falls to the margin, and to go on when it rises above
};

/// The sending side. All of its outputs depend on the state alone.
class FlowSender {
 public:
  FlowSender() = default;
  FlowSender(FlowControl flow, unsigned depth)
      : credits_(flow == FlowControl::credits ? static_cast<std::uint16_t>(depth) : std::uint16_t{1}),
        counting_(flow == FlowControl::credits) {}

  [[nodiscard]] bool ready() const { return credits_ != 0; }
  /// A flit was sent; only when ready().
  void send() { credits_ = static_cast<std::uint16_t>(credits_ - counting_); }
  /// An event came back: one more credit, or the stop bit toggles.
  void event() { credits_ = static_cast<std::uint16_t>(counting_ ? credits_ + 1 : credits_ ^ 1); }

 private:
  std::uint16_t credits_ = 0;  ///< under margin flow control 1: go, 0: stop
  std::uint8_t counting_ = 0;  ///< credits are counted
};

/// The receiving side: counts what its buffer holds.
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
  /// True: an event goes back, given that a flit left the buffer (`popped`) or not. The stop bit is a register: set
  /// when the free space that this edge leaves is at most the margin.
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

/// The margin at which a buffer cannot overflow: flits sent until the stop bit has reached the sender, one a cycle at most.
/// `latency` is that of the link, each way; the sender's switch stage and its own register add one each.
[[nodiscard]] constexpr Tick least_margin(Tick latency, const Share& share = {}) {
  return share.most(2 * latency + share.delay() + 1);
}

}  // namespace thalweg
