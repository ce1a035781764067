// SPDX-License-Identifier: Apache-2.0
// Streams between the parts of a node: words of 64 bytes in packets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/types.hpp"

namespace thalweg::vcsn {

inline constexpr unsigned kWord = 64;  ///< bytes

struct Word {
  std::array<std::byte, kWord> bytes{};
  bool first = false, last = false;  ///< of a packet
  std::uint8_t channel = 0;
};

/// Where a stream comes from and where it goes to. Words move one after another at times that may lie ahead, as soon as these are known:
/// all that such a time rests on has been decided. So a burst or a frame is one step of the simulator, and each of its words has the cycle
/// that the hardware moves it in. Cycles are those of the stream's clock.
class Source {
 public:
  virtual ~Source() = default;
  /// The cycle from which on the next word is offered; kNever: that is not known.
  [[nodiscard]] virtual Tick offers() const = 0;
  [[nodiscard]] virtual const Word& front() const = 0;
  /// The word moves in this cycle.
  virtual void take(Tick cycle) = 0;
};

class Sink {
 public:
  virtual ~Sink() = default;
  /// The cycle from which on it takes the next word; kNever: that is not known.
  [[nodiscard]] virtual Tick accepts() const = 0;
  virtual void put(Tick cycle, const Word& word) = 0;
};

/// Cycles of the last events of a row, by their numbers.
class Times {
 public:
  /// `most`: of events whose times may lie ahead, or are asked for to the cycle; a power of two.
  explicit Times(std::size_t most) : times_(most, -1) {}

  void add(Tick cycle) { times_[count_++ & (times_.size() - 1)] = cycle; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// The cycle of event `number`: kNever if it has not been added. -1, which is before all cycles, if it is no longer kept, or if the number is
  /// negative.
  [[nodiscard]] Tick of(std::int64_t number) const {
    if (number < 0) return -1;
    const auto at = static_cast<std::uint64_t>(number);
    if (at + times_.size() < count_) return -1;
    return at >= count_ ? kNever : times_[at & (times_.size() - 1)];
  }

 private:
  std::vector<Tick> times_;
  std::uint64_t count_ = 0;
};

/// A cycle later, which may not be known.
[[nodiscard]] constexpr Tick after(Tick cycle) {
  return cycle == kNever ? kNever : cycle + 1;
}

}  // namespace thalweg::vcsn
