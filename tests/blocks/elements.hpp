// SPDX-License-Identifier: Apache-2.0
// Inputs of lanes and joins: pairs of type and operator, and elements that are special in their formats.
#pragma once

#include <iterator>
#include <vector>

#include "bisim/bisim.hpp"
#include "thalweg_spec.hpp"

namespace blocks {

struct Pair {
  thalweg::spec::Operator op;
  thalweg::spec::Datatype type;
};

/// The pairs that the module is built for: bit [type][operator].
[[nodiscard]] inline std::vector<Pair> built() {
  std::vector<Pair> pairs;
  for (unsigned bit = 0; bit < 512; ++bit)
    if (top::Parameters::Pairs[bit / 64] >> (bit % 64) & 1)
      pairs.push_back({static_cast<thalweg::spec::Operator>(bit % 16), static_cast<thalweg::spec::Datatype>(bit / 16)});
  return pairs;
}

/// Eight bytes: from a small set each, special in all formats at once, or random.
[[nodiscard]] inline std::uint64_t element(bisim::Dice& dice) {
  static constexpr std::uint64_t kSpecial[] = {0x0000000000000000, 0x8000000080008000, 0x7FF0000000000000,
                                               0xFFF0000000000000, 0x7F8000007F800000, 0xFF800000FF800000,
                                               0x7C007C007C007C00, 0xFC00FC00FC00FC00, 0x7FFFFFFF7FFF7FFF,
                                               0xFFFFFFFFFFFFFFFF, 0x3FF0000000000001, 0x0000000100010001};
  switch (dice.below(4)) {
    case 0:
      return dice.bits();
    case 1:
      return kSpecial[dice.below(std::size(kSpecial))];
    case 2:  // exponents near the middle
      return (dice.bits() & 0x83FF83FF83FF83FF) | 0x3C003C003C003C00;
    default: {
      std::uint64_t word = 0;
      for (unsigned i = 0; i < 4; ++i) word |= (kSpecial[dice.below(std::size(kSpecial))] & 0xFFFF) << (16 * i);
      return word;
    }
  }
}

}  // namespace blocks
