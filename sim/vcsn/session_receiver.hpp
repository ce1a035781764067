// SPDX-License-Identifier: Apache-2.0
// The receiving side of a session: which frames have room, and when their sender should know of those that have come. Twin of
// rtl/vcsn/tw_session_receiver.sv.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/types.hpp"
#include "ethernet/frame.hpp"
#include "vcsn/send_buffer.hpp"

namespace thalweg::vcsn {

/// What both ends of sessions have in common. Cycles are those of the MAC's clock.
struct SessionConfig {
  unsigned window = 16;  ///< frames that may be under way, for which the receiver has room; a power of two
  Tick resend = 4;       ///< cycles without an answer after which something is sent again; at least 4
  unsigned reorder = 3;  ///< a frame is taken for lost when more than so many that were sent after it have come
  unsigned tries = 16;   ///< without any answer, after which the session ends
};

/// `Buffer` is a ReceiveBuffer, or what stands for one. What is heard in a cycle acts in the next one.
template <class Buffer>
class SessionReceiver {
 public:
  SessionReceiver(const SessionConfig& config, Buffer& buffer)
      : buffer_(&buffer),
        window_(config.window),
        due_(std::max(1U, config.window / 4)),
        resend_(config.resend),
        quarter_(config.resend / 4) {}

  /// There is room for a frame of this number.
  [[nodiscard]] bool fits(std::uint32_t number, Tick now) const { return ahead(number, now) < window_; }
  /// And it has not come yet.
  [[nodiscard]] bool is_new(std::uint32_t number, Tick now) const {
    return fits(number, now) && !buffer_->holds(buffer_->frames_left(now) + ahead(number, now));
  }
  /// A frame came that says that its sender knows of so many frames.
  void hear(std::uint32_t base) { known_ |= base == static_cast<std::uint32_t>(reported_); }
  /// A new frame of data ended.
  void take(std::uint32_t number, const ethernet::FrameRef& frame, std::size_t data, const Waiting& words, Tick now) {
    buffer_->place(buffer_->frames_left(now) + ahead(number, now), frame, data, words, now);
    count(number, now);
  }
  /// One that is not new did.
  void repeat(Tick now) { report_ = now; }
  /// Its sender asks for a frame with a base.
  void ask(Tick now) { confirm_ = std::min(confirm_, now + quarter_); }
  /// One was sent, with data.
  void sent() { confirm_ = kNever; }
  /// Ended: there is nothing to say any more.
  void end() { report_ = confirm_ = kNever; }

  /// From which cycle on it has something to say, as far as that is known; kNever.
  [[nodiscard]] Tick says_at(Tick now) const {
    Tick at = std::min({report_, confirm_, again_at()});
    const std::uint64_t left = std::max(buffer_->frames_left(now), buffer_->in_order());
    // A quarter of the window has left, or a frame has left some time ago.
    if (reported_ + due_ <= left) at = std::min(at, buffer_->frame_left_at(reported_ + due_ - 1));
    if (reported_ < left) at = std::min(at, add(buffer_->frame_left_at(reported_), quarter_));
    return at;
  }
  /// Nothing has left since it was said last, which is not known to be known.
  [[nodiscard]] bool again(Tick now) const { return now >= again_at() && reported_ == buffer_->frames_left(now); }
  /// The peer should answer that it knows.
  [[nodiscard]] bool asks(Tick now) const { return !known_ || reported_ != buffer_->frames_left(now); }
  /// A bit for each frame from the first one on that has not left.
  [[nodiscard]] std::uint64_t received(Tick now) const {
    const std::uint64_t left = buffer_->frames_left(now);
    std::uint64_t bits = 0;
    for (unsigned k = 0; k < window_; ++k)
      if (buffer_->holds(left + k)) bits |= std::uint64_t{1} << k;
    return bits;
  }
  /// It says so in this cycle.
  void say(Tick now) {
    known_ &= reported_ == buffer_->frames_left(now);
    reported_ = buffer_->frames_left(now);
    report_ = confirm_ = kNever;
    said_ = now;
  }
  /// When it was said; kNever.
  [[nodiscard]] Tick said_at() const { return said_; }
  /// Everything that came has left, and its sender knows.
  [[nodiscard]] bool settled() const { return known_ && reported_ == buffer_->in_order(); }

 private:
  [[nodiscard]] static Tick add(Tick at, Tick cycles) { return at == kNever ? kNever : at + cycles; }
  [[nodiscard]] std::uint32_t ahead(std::uint32_t number, Tick now) const {
    return number - static_cast<std::uint32_t>(buffer_->frames_left(now));
  }
  [[nodiscard]] Tick again_at() const { return known_ ? kNever : add(said_, resend_); }

  /// Reports at once where a frame is missing before this one, as it is not the next one of all that have come; or after some frames.
  void count(std::uint32_t number, Tick now) {
    if (number != static_cast<std::uint32_t>(taken_++) || ++fresh_ == due_) {
      fresh_ = 0;
      report_ = now;
    } else {
      report_ = std::min(report_, now + quarter_);
    }
  }

  Buffer* buffer_;
  unsigned window_, due_;
  Tick resend_, quarter_;
  std::uint64_t taken_ = 0;     ///< frames
  std::uint64_t reported_ = 0;  ///< frames that have left, as its sender should know
  bool known_ = true;           ///< and does
  unsigned fresh_ = 0;          ///< frames since a report
  Tick report_ = kNever, confirm_ = kNever, said_ = kNever;
};

}  // namespace thalweg::vcsn
