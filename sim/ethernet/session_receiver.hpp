// SPDX-License-Identifier: Apache-2.0
// Receiving half of a session: decides which frames fit, and when to acknowledge received ones. C++ model of
// rtl/ethernet/tw_session_receiver.sv.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/types.hpp"

namespace thalweg::ethernet {

/// Parameters of both ends of a session. Cycles are of the MAC's clock.
struct SessionConfig {
  unsigned window = 16;  ///< frames in flight, at most as many as the receive buffer holds; a power of two
  Tick resend = 4;       ///< retransmission time-out in cycles; at least 4
  unsigned reorder = 3;  ///< a frame counts as lost when more than this many later ones have been received
  unsigned tries = 16;   ///< retries without a reply after which the session ends
};

/// `Buffer` is a ReceiveBuffer, or a mock of one. A frame received in a cycle takes effect in the next one. A frame
/// that leaves the buffer takes effect one cycle later still, as a report contains numbers and bits of the previous
/// cycle.
template <class Buffer>
class SessionReceiver {
 public:
  SessionReceiver(const SessionConfig& config, Buffer& buffer)
      : buffer_(&buffer), due_(std::max(1U, config.window / 4)), resend_(config.resend), quarter_(config.resend / 4) {}

  /// A received frame acknowledges the report of `base` frames.
  void hear(std::uint32_t base) { acknowledged_ |= base == static_cast<std::uint32_t>(reported_); }
  /// A new data frame was accepted. If an earlier frame is missing, that is, the number is not the next one, it is
  /// reported at once; otherwise after several frames or a delay.
  void take(std::uint32_t number, Tick now) {
    if (number != static_cast<std::uint32_t>(accepted_++) || ++fresh_ == due_) {
      fresh_ = 0;
      report_ = now;
    } else {
      report_ = std::min(report_, now + quarter_);
    }
  }
  /// A duplicate data frame was received.
  void repeat(Tick now) { report_ = now; }
  /// The sender requests a frame with a base.
  void ask(Tick now) { confirm_ = std::min(confirm_, now + quarter_); }
  /// A data frame with a base was sent.
  void sent() { confirm_ = kNever; }

  /// Earliest cycle in which a report is due, as far as known; kNever if none.
  [[nodiscard]] Tick says_at() const {
    Tick at = std::min({report_, confirm_, again_at()});
    const std::uint64_t left = buffer_->in_order();
    // A quarter of the window has left, or a frame has left some time ago.
    if (reported_ + due_ <= left) at = std::min(at, add(buffer_->frame_left_at(reported_ + due_ - 1), 1));
    if (reported_ < left) at = std::min(at, add(buffer_->frame_left_at(reported_), quarter_ + 1));
    return at;
  }
  /// Cycle from which an unacknowledged report is repeated, if no frame leaves before; kNever if none.
  [[nodiscard]] Tick again_at() const { return acknowledged_ ? kNever : rests_until(); }
  /// True if the next report repeats the last one, which is not acknowledged.
  [[nodiscard]] bool again(Tick now) const { return now >= again_at() && !more(now); }
  /// True if the report requests an acknowledgement.
  [[nodiscard]] bool asks(Tick now) const { return !acknowledged_ || more(now); }
  /// A report is sent in this cycle.
  void say(Tick now) {
    acknowledged_ &= !more(now);
    reported_ = buffer_->frames_left(now - 1);
    report_ = confirm_ = kNever;
    reported_at_ = now;
  }
  [[nodiscard]] bool has_said() const { return reported_at_ != kNever; }
  /// Cycle in which the retransmission time-out of the last report expires; kNever if none was sent.
  [[nodiscard]] Tick rests_until() const { return add(reported_at_, resend_); }
  /// True if all received frames have left the buffer and the sender has acknowledged the report.
  [[nodiscard]] bool settled() const { return acknowledged_ && reported_ == buffer_->in_order(); }

 private:
  [[nodiscard]] static Tick add(Tick at, Tick cycles) { return at == kNever ? kNever : at + cycles; }
  /// True if frames have left since the last report.
  [[nodiscard]] bool more(Tick now) const { return reported_ != buffer_->frames_left(now - 1); }

  Buffer* buffer_;
  unsigned due_;
  Tick resend_, quarter_;
  std::uint64_t accepted_ = 0;  ///< number of accepted frames
  std::uint64_t reported_ = 0;  ///< frames that have left the buffer, as of the last report
  bool acknowledged_ = true;    ///< the sender has acknowledged that report
  unsigned fresh_ = 0;          ///< frames accepted since the last report
  Tick report_ = kNever, confirm_ = kNever, reported_at_ = kNever;
};

}  // namespace thalweg::ethernet
