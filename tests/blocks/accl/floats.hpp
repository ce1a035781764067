// SPDX-License-Identifier: Apache-2.0
// Numbers that are special in conversions between float32 and float16.
#pragma once

#include <array>
#include <cstdint>

#include "bisim/dice.hpp"

namespace blocks {

/// A float32, or two float16: arbitrary; special; near the range of float16, often halfway between two of its numbers.
[[nodiscard]] inline std::uint32_t convertible(bisim::Dice& dice) {
  static constexpr std::uint32_t kSpecial[] = {0x00000000, 0x80000000, 0x7F800000, 0xFF800000, 0x7F800001, 0xFFC00000,
                                               0x7FFFFFFF, 0x00000001, 0x33000000, 0x33000001, 0x477FEFFF, 0x477FF000,
                                               0x387FFFFF, 0x387FE000, 0x7C007C01, 0xFC00FE00, 0x000103FF, 0x80018200};
  const auto random = static_cast<std::uint32_t>(dice.bits());
  switch (dice.below(4)) {
    case 0:
      return random;
    case 1:
      return kSpecial[dice.below(std::size(kSpecial))];
    case 2:  // subnormal numbers of float16
      return random & 0x83FF83FF;
    default: {
      const std::uint32_t fraction = (random & 0x7FFFFF) >> dice.below(24) << dice.below(24);
      return (random & 0x80000000) | ((100 + dice.below(46)) << 23) | (fraction & 0x7FFFFF);
    }
  }
}
[[nodiscard]] inline std::array<std::uint64_t, 8> convertible_word(bisim::Dice& dice) {
  std::array<std::uint64_t, 8> word;
  for (auto& part : word) part = convertible(dice) | std::uint64_t{convertible(dice)} << 32;
  return word;
}

}  // namespace blocks
