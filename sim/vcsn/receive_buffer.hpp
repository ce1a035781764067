// SPDX-License-Identifier: Apache-2.0
// Receive buffer of a virtual port: complete, correct frames wait until their words cross into the shell's clock. C++ model of
// rtl/vcsn/tw_receive_buffer.sv, which writes words as they arrive: a frame's end follows its last word, and precedes the next frame.
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
  /// Cycles from when a frame is kept to its first word into the crossing, of frames in slots.
  static constexpr Tick kFound = 4;

  /// `frame_words`: those of a frame at most, for which there has to be room where one begins.
  ReceiveBuffer(Clock shell, Clock mac, unsigned words, unsigned frame_words)
      : shell_(shell),
        mac_(mac),
        crossing_(kCrossingWords, kCrossingStages, mac, shell),
        left_(std::bit_ceil(words + kAhead)),
        words_(words),
        frame_words_(frame_words) {}

  /// A frame, where its words begin in it, and what they are.
  struct Content {
    ethernet::FrameRef frame{};
    std::size_t data = 0;
    Waiting of{};
  };

  static constexpr std::size_t kAhead = 64;  ///< more words than leave at times that are known and lie ahead

  /// A restart: all words that it holds are dropped. How many.
  std::uint64_t reset() {
    const std::uint64_t dropped = crossing_.size() + written_ - left_.count();
    auto keep = std::move(leaves);
    *this = ReceiveBuffer(shell_, mac_, static_cast<unsigned>(words_), static_cast<unsigned>(frame_words_));
    leaves = std::move(keep);
    return dropped;
  }

  // The MAC's side.

  /// Is there room for a frame that begins in this cycle?
  [[nodiscard]] bool has_room(Tick now) {
    while (freed_ < left_.count() && left_.of(static_cast<std::int64_t>(freed_)) < now) ++freed_;
    return written_ - freed_ + frame_words_ <= words_;
  }
  /// The words of a frame: one may leave each cycle from `whole` on.
  void add(const ethernet::FrameRef& frame, std::size_t data, const Waiting& of) {
    frames_.push_back({frame, data, of, 0});
    written_ += of.words;
    fill();
  }

  /// From which cycle on nothing is in it, nor in slots that could leave; kNever: that is not known.
  [[nodiscard]] Tick idle_from() const {
    if (!slots_.empty()) return in_order_ == 0 ? 0 : after(frame_left_at(in_order_ - 1));
    if (left_.count() < written_) return kNever;
    return written_ == 0 ? 0 : left(static_cast<std::int64_t>(written_) - 1) + 2;
  }

  // Frames that have numbers may come in another order than they go.

  /// Where it is idle. `slots`: for how many frames, numbered from 0, from the oldest one on there is room; 0: they have no numbers. Frames that could not leave are dropped.
  void set_slots(unsigned slots) {
    slots_.assign(slots, {});
    in_order_ = frames_left_ = 0;
  }
  /// The slot of a frame, below `frames_left` and `slots` more, is taken.
  [[nodiscard]] bool holds(std::uint64_t number) const {
    return number < in_order_ || static_cast<bool>(slots_[number % slots_.size()].frame);
  }
  /// A frame whose slot is free is kept in this cycle.
  void place(std::uint64_t number, const Content& content, Tick now) {
    slots_[number % slots_.size()] = {content.frame, content.data, content.of, 0};
    for (; holds(in_order_); ++in_order_) {
      Slot& next = slots_[in_order_ % slots_.size()];
      next.of.whole = now + kFound;
      next.end = written_ + next.of.words;
      add(std::exchange(next.frame, {}), next.data, next.of);
    }
  }
  /// Frames in order that have come.
  [[nodiscard]] std::uint64_t in_order() const { return in_order_; }
  /// The cycle from which on one of these, of the last `slots`, has left; kNever: that is not known.
  [[nodiscard]] Tick frame_left_at(std::uint64_t number) const {
    const Tick at = left(static_cast<std::int64_t>(slots_[number % slots_.size()].end) - 1);
    return at == kNever ? kNever : at + 2;
  }
  /// Frames that have left by this cycle. It may be earlier than that of the last call, as long as no frame was placed into the slot
  /// of one that left in between.
  [[nodiscard]] std::uint64_t frames_left(Tick now) {
    while (frames_left_ < in_order_ && frame_left_at(frames_left_) <= now) ++frames_left_;
    while (frames_left_ > 0 && in_order_ < frames_left_ + slots_.size() && frame_left_at(frames_left_ - 1) > now)
      --frames_left_;
    return frames_left_;
  }

  /// When word `number` since the begin has left its place; kNever: that is not known.
  [[nodiscard]] Tick left(std::int64_t number) const { return left_.of(number); }
  /// Words that have left, or will at a time that is known.
  [[nodiscard]] std::uint64_t left() const { return left_.count(); }
  std::function<void()> leaves = [] {};  ///< words have left, or will

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
    std::size_t data = 0;  ///< where words begin in it
    Waiting of;
    unsigned next = 0;
  };
  struct Slot {
    ethernet::FrameRef frame;  ///< of one that is not in order yet
    std::size_t data = 0;
    Waiting of;
    std::uint64_t end = 0;  ///< words up to its end, of one that is
  };

  void fill() {
    bool moved = false;
    while (!frames_.empty() && crossing_.place() != kNever) {
      Received& first = frames_.front();
      // Of slots, a frame's first word is read two cycles after the last one of the frame before, which may still wait at the memory's output.
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
  Tick last_ = -1;    ///< cycle in which the word before went
  Tick loaded_ = -1;  ///< and in which it was read
  std::vector<Slot> slots_;
  std::uint64_t in_order_ = 0, frames_left_ = 0;
};

}  // namespace thalweg::vcsn
