// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bisim/dice.hpp"
#include "bisim/ports.hpp"

namespace blocks {

/// Draws all bits of a port.
template <class Element, unsigned Elements>
void fill(bisim::Port<Element, Elements>& port, bisim::Dice& dice) {
  constexpr unsigned kBits = Element::kBits * Elements;
  for (unsigned bit = 0; bit < kBits; bit += 32)
    bisim::put_bits(port.words, bit, std::min(32U, kBits - bit), dice.bits());
}

}  // namespace blocks
