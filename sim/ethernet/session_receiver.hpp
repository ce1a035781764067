// SPDX-License-Identifier: Apache-2.0
// The receiving side of a session: which frames have room, and when their sender should know of those that have come. Twin of
// rtl/ethernet/tw_session_receiver.sv.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/types.hpp"

namespace thalweg::ethernet {

/// What both ends of sessions have in common. Cycles are those of the MAC's clock.
struct SessionConfig {
  unsigned window = 16;  ///< frames that may be under way, for which the receiver has room; a power of two
  Tick resend = 4;       ///< cycles without an answer after which something is sent again; at least 4
  unsigned reorder = 3;  ///< a frame is taken for lost when more than so many that were sent after it have come
  unsigned tries = 16;   ///< without any answer, after which the session ends
};

/// `Buffer` is a ReceiveBuffer, or what stands for one. What is heard in a cycle acts in the next one; what leaves the buffer does a cycle later, since what is
/// said is of the cycle before: it has the numbers and bits of that one.
template <class Buffer>
class SessionReceiver {
 public:
  SessionReceiver(const SessionConfig& config, Buffer& buffer)
      : buffer_(&buffer), due_(std::max(1U, config.window / 4)), resend_(config.resend), quarter_(config.resend / 4) {}

  /// A frame came that says that its sender knows of so many frames.
  void hear(std::uint32_t base) { known_ |= base == static_cast<std::uint32_t>(reported_); }
  /// A new frame of data was kept. It is reported at once where a frame is missing before it, as it is not the next one of all that have come;
  /// or after some frames.
  void take(std::uint32_t number, Tick now) {
    if (number != static_cast<std::uint32_t>(taken_++) || ++fresh_ == due_) {
      fresh_ = 0;
      report_ = now;
    } else {
      report_ = std::min(report_, now + quarter_);
    }
  }
  /// One came that was not.
  void repeat(Tick now) { report_ = now; }
  /// Its sender asks for a frame with a base.
  void ask(Tick now) { confirm_ = std::min(confirm_, now + quarter_); }
  /// One was sent, with data.
  void sent() { confirm_ = kNever; }

  /// From which cycle on it has something to say, as far as that is known; kNever.
  [[nodiscard]] Tick says_at() const {
    Tick at = std::min({report_, confirm_, again_at()});
    const std::uint64_t left = buffer_->in_order();
    // A quarter of the window has left, or a frame has left some time ago.
    if (reported_ + due_ <= left) at = std::min(at, add(buffer_->frame_left_at(reported_ + due_ - 1), 1));
    if (reported_ < left) at = std::min(at, add(buffer_->frame_left_at(reported_), quarter_ + 1));
    return at;
  }
  /// From which cycle on it would say again what is not known to be known, if nothing leaves; kNever.
  [[nodiscard]] Tick again_at() const { return known_ ? kNever : rests_until(); }
  /// Nothing has left since it was said last, which is not known to be known.
  [[nodiscard]] bool again(Tick now) const { return now >= again_at() && !more(now); }
  /// The peer should answer that it knows.
  [[nodiscard]] bool asks(Tick now) const { return !known_ || more(now); }
  /// It says so in this cycle.
  void say(Tick now) {
    known_ &= !more(now);
    reported_ = buffer_->frames_left(now - 1);
    report_ = confirm_ = kNever;
    said_ = now;
  }
  [[nodiscard]] bool has_said() const { return said_ != kNever; }
  /// The cycle after which it was said last for long enough; kNever: it was not.
  [[nodiscard]] Tick rests_until() const { return add(said_, resend_); }
  /// Everything that came has left, and its sender knows.
  [[nodiscard]] bool settled() const { return known_ && reported_ == buffer_->in_order(); }

 private:
  [[nodiscard]] static Tick add(Tick at, Tick cycles) { return at == kNever ? kNever : at + cycles; }
  /// Frames have left since it was said last.
  [[nodiscard]] bool more(Tick now) const { return reported_ != buffer_->frames_left(now - 1); }

  Buffer* buffer_;
  unsigned due_;
  Tick resend_, quarter_;
  std::uint64_t taken_ = 0;     ///< frames
  std::uint64_t reported_ = 0;  ///< frames that have left, as its sender should know
  bool known_ = true;           ///< and does
  unsigned fresh_ = 0;          ///< frames since a report
  Tick report_ = kNever, confirm_ = kNever, said_ = kNever;
};

}  // namespace thalweg::ethernet
