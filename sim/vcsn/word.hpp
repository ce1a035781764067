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

/// Ends of a stream. Words move in order, at times that may lie in the future, as soon as everything that affects these
/// times is decided. A burst or a frame is therefore one step of the simulator, and each of its words has the cycle in
/// which the hardware moves it. Cycles are those of the stream's clock.
class Source {
 public:
  virtual ~Source() = default;
  /// The first cycle in which the next word is offered; kNever if unknown.
  [[nodiscard]] virtual Tick offers() const = 0;
  [[nodiscard]] virtual const Word& front() const = 0;
  /// The word moves in this cycle.
  virtual void take(Tick cycle) = 0;
};

class Sink {
 public:
  virtual ~Sink() = default;
  /// The first cycle in which it accepts the next word; kNever if unknown.
  [[nodiscard]] virtual Tick accepts() const = 0;
  virtual void put(Tick cycle, const Word& word) = 0;
};

/// Cycles of the last events of a sequence, by event number.
class Times {
 public:
  /// `most`: number of events whose times may lie in the future, or are needed exactly; a power of two.
  explicit Times(std::size_t most) : times_(most, -1) {}

  void add(Tick cycle) { times_[count_++ & (times_.size() - 1)] = cycle; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// The cycle of event `number`: kNever if it has not been added; -1, which is before all cycles, if it is no longer
  /// kept, or if the number is negative.
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

/// The next cycle; kNever if unknown.
[[nodiscard]] constexpr Tick after(Tick cycle) {
  return cycle == kNever ? kNever : cycle + 1;
}

}  // namespace thalweg::vcsn
