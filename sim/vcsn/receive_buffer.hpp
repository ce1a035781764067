// SPDX-License-Identifier: Apache-2.0
// Receive buffer of a virtual port: complete, correct frames wait until their words cross into the shell's clock. C++
// model of rtl/vcsn/tw_receive_buffer.sv, which writes words as they arrive: a frame's end follows its last word, and
// precedes the next frame.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "common/async_fifo.hpp"
#include "core/clock.hpp"
#include "ethernet/frame.hpp"
#include "vcsn/send_buffer.hpp"
#include "vcsn/word.hpp"

namespace thalweg::vcsn {

class ReceiveBuffer final : public Source {
 public:
  /// With slots: cycles from a frame's acceptance to the crossing of its first word.
  static constexpr Tick kFound = 4;

  /// `frame_words`: maximum words of a frame; this space must be free when a frame starts.
  ReceiveBuffer(Clock shell, Clock mac, unsigned words, unsigned frame_words)
      : shell_(shell),
        mac_(mac),
        crossing_(kCrossingWords, kCrossingStages, mac, shell),
        left_(std::bit_ceil(words + kAhead)),
        words_(words),
        frame_words_(frame_words) {}

  /// A frame, the offset of its words, and their description.
  struct Content {
    ethernet::FrameRef frame{};
    std::size_t data = 0;
    Waiting of{};
  };

  static constexpr std::size_t kAhead = 64;  ///< more than the number of words with known future leaving times

  /// Restarts: drops all words. Returns their number.
  std::uint64_t reset() {
    const std::uint64_t dropped = crossing_.size() + written_ - left_.count();
    auto keep = std::move(leaves);
    *this = ReceiveBuffer(shell_, mac_, static_cast<unsigned>(words_), static_cast<unsigned>(frame_words_));
    leaves = std::move(keep);
    return dropped;
  }

  // The MAC's side.

  /// True if there is space for a frame that starts in this cycle.
  [[nodiscard]] bool has_room(Tick now) {
    while (freed_ < left_.count() && left_.of(static_cast<std::int64_t>(freed_)) < now) ++freed_;
    return written_ - freed_ + frame_words_ <= words_;
  }
  /// Adds the words of a frame; one may leave per cycle from `whole` on.
  void add(const ethernet::FrameRef& frame, std::size_t data, const Waiting& of) {
    frames_.push_back({frame, data, of, 0});
    written_ += of.words;
    fill();
  }

  /// First cycle in which it is empty, apart from slots whose frames cannot leave; kNever if unknown.
  [[nodiscard]] Tick idle_from() const {
    if (!slots_.empty()) return in_order_ == 0 ? 0 : after(frame_left_at(in_order_ - 1));
    if (left_.count() < written_) return kNever;
    return written_ == 0 ? 0 : left(static_cast<std::int64_t>(written_) - 1) + 2;
  }

  // Slots: numbered frames may arrive out of order.

  /// Requires that it is idle. `slots`: number of frames, numbered from 0, for which there is space from the oldest on;
  /// 0: frames are not numbered. Drops frames that could not leave.
  void set_slots(unsigned slots) {
    slots_.assign(slots, {});
    in_order_ = frames_left_ = 0;
  }
  /// True if the slot of a frame is occupied; `number` is less than `frames_left` + `slots`.
  [[nodiscard]] bool holds(std::uint64_t number) const {
    return number < in_order_ || static_cast<bool>(slots_[number % slots_.size()].frame);
  }
  /// Accepts a frame in this cycle; its slot must be free.
  void place(std::uint64_t number, const Content& content, Tick now) {
    slots_[number % slots_.size()] = {content.frame, content.data, content.of, 0};
    for (; holds(in_order_); ++in_order_) {
      Slot& next = slots_[in_order_ % slots_.size()];
      next.of.whole = now + kFound;
      next.end = written_ + next.of.words;
      add(std::exchange(next.frame, {}), next.data, next.of);
    }
  }
  /// Number of frames received in order.
  [[nodiscard]] std::uint64_t in_order() const { return in_order_; }
  /// Cycle from which on one of the last `slots` of these has left; kNever if unknown.
  [[nodiscard]] Tick frame_left_at(std::uint64_t number) const {
    const Tick at = left(static_cast<std::int64_t>(slots_[number % slots_.size()].end) - 1);
    return at == kNever ? kNever : at + 2;
  }
  /// Number of frames that have left by this cycle. The cycle may be earlier than in the last call, as long as no frame
  /// was placed into the slot of one that left in between.
  [[nodiscard]] std::uint64_t frames_left(Tick now) {
    while (frames_left_ < in_order_ && frame_left_at(frames_left_) <= now) ++frames_left_;
    while (frames_left_ > 0 && in_order_ < frames_left_ + slots_.size() && frame_left_at(frames_left_ - 1) > now)
      --frames_left_;
    return frames_left_;
  }

  /// Cycle in which word `number`, counted from the start, has left; kNever if unknown.
  [[nodiscard]] Tick left(std::int64_t number) const { return left_.of(number); }
  /// Number of words that have left, or whose future leaving time is known.
  [[nodiscard]] std::uint64_t left() const { return left_.count(); }
  std::function<void()> leaves = [] {};  ///< called when words have left, or their leaving times are known

  // The shell's side.

  [[nodiscard]] Tick offers() const override { return crossing_.shown(); }
  [[nodiscard]] const Word& front() const override { return crossing_.front(); }
  void take(Tick cycle) override {
    crossing_.pop(cycle);
    fill();
  }

 private:
  struct Received {
    ethernet::FrameRef frame;
    std::size_t data = 0;  ///< offset of its words
    Waiting of;
    unsigned next = 0;
  };
  struct Slot {
    ethernet::FrameRef frame;  ///< received out of order; null otherwise
    std::size_t data = 0;
    Waiting of;
    std::uint64_t end = 0;  ///< number of words up to its end, if in order
  };

  void fill() {
    bool moved = false;
    while (!frames_.empty() && crossing_.place() != kNever) {
      Received& first = frames_.front();
      // With slots, a frame's first word is read two cycles after the previous frame's last word, which may still wait
      // at the memory's output.
      loaded_ = std::max({first.of.whole - 1, last_, slots_.empty() || first.next > 0 ? 0 : loaded_ + 2});
      const Tick at = std::max(crossing_.place(), loaded_ + 1);
      last_ = at;
      Word word{.first = first.of.first && first.next == 0,
                .last = first.of.last && first.next + 1 == first.of.words,
                .channel = first.of.channel};
      std::memcpy(word.bytes.data(), first.frame->bytes().data() + first.data + std::size_t{first.next} * kWord, kWord);
      crossing_.push(at, word);
      left_.add(at);
      if (++first.next == first.of.words) frames_.pop_front();
      moved = true;
    }
    if (moved) leaves();
  }

  Clock shell_, mac_;
  AsyncFifo<Word> crossing_;
  std::deque<Received> frames_;
  Times left_;
  std::uint64_t words_, frame_words_;
  std::uint64_t written_ = 0, freed_ = 0;
  Tick last_ = -1;    ///< cycle in which the previous word left
  Tick loaded_ = -1;  ///< cycle in which it was read
  std::vector<Slot> slots_;
  std::uint64_t in_order_ = 0, frames_left_ = 0;
};

}  // namespace thalweg::vcsn
