// Sets as bits of a word.
#pragma once

#include <bit>
#include <cstdint>

namespace thalweg {

/// Calls visit(index) for each set bit, ascending.
template <class Visit>
void each_bit(std::uint32_t bits, Visit&& visit) {
  for (; bits; bits &= bits - 1) visit(static_cast<unsigned>(std::countr_zero(bits)));
}

}  // namespace thalweg
