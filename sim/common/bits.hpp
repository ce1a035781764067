// Sets as bits of a word.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

namespace thalweg {

/// Calls visit(index) for each set bit, ascending.
template <std::unsigned_integral Bits, class Visit>
void each_bit(Bits bits, Visit&& visit) {
  for (; bits; bits &= bits - 1) visit(static_cast<unsigned>(std::countr_zero(bits)));
}

}  // namespace thalweg
