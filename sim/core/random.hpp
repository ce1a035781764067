// SPDX-License-Identifier: Apache-2.0
// Random numbers, identical on every platform. Each user owns its generator; there is no global one.
#pragma once

#include <cstdint>

namespace thalweg {

/// Mixes the bits of a word: the output function of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014, figure 15).
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/// SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mix(seed)) {}

  std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15u); }
  /// Uniform in 0 .. bound-1, for bounds up to 2^20 (biased by less than 2^-12 of a value's probability).
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>((next() >> 32) * bound >> 32); }
  /// Uniform in (0, 1].
  double unit() { return static_cast<double>((next() >> 11) + 1) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace thalweg
