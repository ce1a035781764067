// SPDX-License-Identifier: Apache-2.0
// Random draws that depend on seed, cycle and lane alone, so that one lane can be silenced in one cycle without
// affecting any other draw: this lets the harness shrink a stimulus without knowing the block's protocol.
#pragma once

#include <cstdint>

namespace bisim {

/// SplitMix64's output function (Steele, Lea, Flood 2014): a bijection that mixes all bits.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

/// The draws of one lane in one cycle. Quiet dice draw only zeros: a stimulus must map these to its calmest legal
/// action.
class Dice {
 public:
  Dice(std::uint64_t state, bool quiet) : state_(state), quiet_(quiet) {}

  [[nodiscard]] std::uint64_t bits() { return quiet_ ? 0 : mix(state_ += 0x9E3779B97F4A7C15U); }
  /// 0 .. n-1
  [[nodiscard]] unsigned below(unsigned n) { return static_cast<unsigned>((bits() >> 32) * n >> 32); }
  /// True with probability `permille` / 1000; never when quiet.
  [[nodiscard]] bool chance(unsigned permille) { return !quiet_ && below(1000) < permille; }
  /// One of the values; the first when quiet.
  template <class... T>
  [[nodiscard]] unsigned pick(T... values) {
    const unsigned all[] = {static_cast<unsigned>(values)...};
    return all[below(sizeof...(values))];
  }

 private:
  std::uint64_t state_;
  bool quiet_;
};

/// One cycle of a schedule: the cycle whose draws it uses, and the active lanes.
struct Slot {
  std::uint32_t cycle;
  std::uint64_t lanes = ~std::uint64_t{0};
};

/// The dice of all lanes in one cycle.
class Draws {
 public:
  Draws(std::uint64_t seed, Slot slot) : state_(mix(seed) ^ mix(slot.cycle + 1)), lanes_(slot.lanes) {}
  [[nodiscard]] Dice lane(unsigned index) const {
    return {mix(state_ + index * 0xD1B54A32D192ED03U), (lanes_ >> index & 1) == 0};
  }

 private:
  std::uint64_t state_;
  std::uint64_t lanes_;
};

}  // namespace bisim
