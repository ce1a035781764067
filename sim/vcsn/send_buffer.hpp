// SPDX-License-Identifier: Apache-2.0
// Send buffer of a virtual port: words cross into the MAC's clock, and wait until a frame is complete, since its header contains whether the
// packet ends in it, and a MAC accepts no gaps in a frame. C++ model of rtl/vcsn/tw_send_buffer.sv.
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
                          kCrossingStages = 2;  ///< of the FIFO between the shell's clock and the MAC's

/// Words of one packet that are sent as a frame.
struct Waiting {
  unsigned words = 0;
  bool first = false, last = false;
  std::uint8_t channel = 0;
  Tick whole = 0;           ///< the cycle from which on all of it is there
  std::uint64_t begin = 0;  ///< the number of its first word
};

class SendBuffer final : public Sink {
 public:
  /// `words`: a power of two, not less than `frame_words`, those of a frame at most. `frames`, a power of two: that wait at most.
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

  std::function<void(Tick)> whole;  ///< a frame is there from this cycle on

  /// A restart: all words that it holds are dropped. How many.
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

  /// All words that it was given have been read.
  [[nodiscard]] bool drained() const { return crossing_.empty() && written_ == read_.count(); }

  // The MAC's side.
  [[nodiscard]] bool empty() const { return frames_.empty(); }
  [[nodiscard]] const Waiting& front() const { return frames_.front(); }
  [[nodiscard]] std::size_t frames() const { return frames_.size(); }
  [[nodiscard]] const Waiting& frame(std::size_t number) const { return frames_[number]; }
  /// From which cycle on all of a frame is there; kNever: that is not known.
  [[nodiscard]] Tick whole_at(std::size_t number) const {
    return number < frames_.size() ? frames_[number].whole : kNever;
  }
  /// Reads the next word of the front frame. Its place is free in the next cycle.
  Word read(Tick cycle) {
    const Word word = words_[read_.count() & (words_.size() - 1)];
    read_.add(cycle);
    fill();
    return word;
  }
  /// The front frame has been read; its last word in this cycle or before.
  void pop(Tick cycle) {
    frames_.pop();
    sent_.add(cycle);
    fill();
  }

  // Frames that may be sent again stay until they are released.

  /// A word of a frame that waits.
  [[nodiscard]] const Word& word(std::uint64_t number) const { return words_[number & (words_.size() - 1)]; }
  /// The places of the front frame are free in the cycle after the next one.
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
