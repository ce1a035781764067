// SPDX-License-Identifier: Apache-2.0
// Send buffer of a virtual port: words cross into the MAC's clock, and wait until a frame is complete, since its header
// states whether the packet ends in it, and a MAC accepts no gaps in a frame. C++ model of rtl/vcsn/tw_send_buffer.sv.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "common/async_fifo.hpp"
#include "common/ring.hpp"
#include "core/clock.hpp"
#include "vcsn/word.hpp"

namespace thalweg::vcsn {

inline constexpr unsigned kCrossingWords = 16,
                          kCrossingStages = 2;  ///< of the FIFO between the clocks of shell and MAC

/// Words of one packet that form a frame.
struct Waiting {
  unsigned words = 0;
  bool first = false, last = false;
  std::uint8_t channel = 0;
  Tick whole = 0;           ///< first cycle in which all of it is available
  std::uint64_t begin = 0;  ///< number of its first word
};

class SendBuffer final : public Sink {
 public:
  /// `words`: capacity, a power of two, at least `frame_words`, the maximum words of a frame. `frames`: maximum number
  /// of waiting frames, a power of two.
  SendBuffer(Clock shell, Clock mac, unsigned words, unsigned frame_words, unsigned frames)
      : shell_(shell),
        mac_(mac),
        crossing_(kCrossingWords, kCrossingStages, shell, mac),
        words_(words),
        read_(words),
        frames_(frames),
        sent_(frames),
        most_(words),
        most_frames_(frames),
        frame_words_(frame_words) {}

  std::function<void(Tick)> whole;  ///< called with the first cycle in which a frame is complete

  /// Restarts: drops all words. Returns their number.
  std::uint64_t reset() {
    const std::uint64_t dropped = crossing_.size() + written_ - read_.count();
    auto keep = std::move(whole);
    *this = SendBuffer(shell_, mac_, static_cast<unsigned>(most_), frame_words_, static_cast<unsigned>(most_frames_));
    whole = std::move(keep);
    return dropped;
  }

  // The shell's side.
  [[nodiscard]] Tick accepts() const override { return crossing_.place(); }
  void put(Tick cycle, const Word& word) override {
    crossing_.push(cycle, word);
    fill();
  }

  /// True if all words given to it have been read.
  [[nodiscard]] bool drained() const { return crossing_.empty() && written_ == read_.count(); }

  // The MAC's side.
  [[nodiscard]] bool empty() const { return frames_.empty(); }
  [[nodiscard]] const Waiting& front() const { return frames_.front(); }
  [[nodiscard]] std::size_t frames() const { return frames_.size(); }
  [[nodiscard]] const Waiting& frame(std::size_t number) const { return frames_[number]; }
  /// First cycle in which a frame is complete; kNever if unknown.
  [[nodiscard]] Tick whole_at(std::size_t number) const {
    return number < frames_.size() ? frames_[number].whole : kNever;
  }
  /// Reads the next word of the front frame. Its slot is free in the next cycle.
  Word read(Tick cycle) {
    const Word word = words_[read_.count() & (words_.size() - 1)];
    read_.add(cycle);
    fill();
    return word;
  }
  /// Removes the front frame, whose last word was read in this cycle or before.
  void pop(Tick cycle) {
    frames_.pop();
    sent_.add(cycle);
    fill();
  }

  // Frames that may be retransmitted stay until they are released.

  /// A word of a waiting frame.
  [[nodiscard]] const Word& word(std::uint64_t number) const { return words_[number & (words_.size() - 1)]; }
  /// Releases the front frame; its slots are free in the cycle after the next one.
  void release(Tick cycle) {
    for (unsigned k = 0; k < frames_.front().words; ++k) read_.add(cycle + 1);
    pop(cycle + 1);
  }

 private:
  void fill() {
    while (!crossing_.empty()) {
      const auto number = static_cast<std::int64_t>(written_);
      const Tick room = after(read_.of(number - most_));
      const Tick place = after(sent_.of(static_cast<std::int64_t>(begun_) - most_frames_));
      if (room == kNever || (gathered_.words == 0 && place == kNever)) return;
      Tick at = std::max({crossing_.shown(), room, last_ + 1});
      if (gathered_.words == 0) at = std::max(at, place);
      last_ = at;
      const Word& word = words_[written_++ & (words_.size() - 1)] = crossing_.front();
      crossing_.pop(at);
      if (gathered_.words == 0) {
        gathered_.first = word.first;
        gathered_.begin = written_ - 1;
        ++begun_;
      }
      gathered_.last = word.last;
      gathered_.channel = word.channel;
      if (++gathered_.words == frame_words_ || word.last) {
        gathered_.whole = at + 1;
        frames_.push(gathered_);
        gathered_ = {};
        whole(at + 1);
      }
    }
  }

  Clock shell_, mac_;
  AsyncFifo<Word> crossing_;
  std::vector<Word> words_;
  Times read_;
  Ring<Waiting> frames_;
  Times sent_;
  std::int64_t most_, most_frames_;
  unsigned frame_words_;
  std::uint64_t written_ = 0, begun_ = 0;
  Waiting gathered_;
  Tick last_ = -1;
};

}  // namespace thalweg::vcsn
