// SPDX-License-Identifier: Apache-2.0
// A virtual port on its way in: frames that were received whole and right wait until their words cross into the shell's clock. Twin of
// rtl/vcsn/tw_receive_buffer.sv, which writes words as they come: a frame's end comes after its last word, and before the next one begins.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>

#include "common/async_fifo.hpp"
#include "core/clock.hpp"
#include "ethernet/frame.hpp"
#include "vcsn/send_buffer.hpp"
#include "vcsn/word.hpp"

namespace thalweg::vcsn {

class ReceiveBuffer final : public Source {
 public:
  /// `frame_words`: those of a frame at most, for which there has to be room where one begins.
  ReceiveBuffer(Clock shell, Clock mac, unsigned words, unsigned frame_words)
      : shell_(shell),
        mac_(mac),
        crossing_(kCrossingWords, kCrossingStages, mac, shell),
        left_(std::bit_ceil(std::size_t{words} + 1)),
        words_(words),
        frame_words_(frame_words) {}

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
  /// Words that have come.
  [[nodiscard]] std::uint64_t received() const { return written_; }
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

  void fill() {
    bool moved = false;
    while (!frames_.empty() && crossing_.place() != kNever) {
      Received& first = frames_.front();
      const Tick at = std::max({crossing_.place(), first.of.whole, last_ + 1});
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
  Tick last_ = -1;
};

}  // namespace thalweg::vcsn
