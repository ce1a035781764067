// Sets as bits of a word.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

namespace thalweg {

/// A set of up to 128.
__extension__ using Wide = unsigned __int128;

/// The lowest member of a set that has one.
constexpr unsigned first(std::uint64_t bits) {
  return static_cast<unsigned>(std::countr_zero(bits));
}
constexpr unsigned first(Wide bits) {
  const auto low = static_cast<std::uint64_t>(bits);
  return low ? first(low) : 64 + first(static_cast<std::uint64_t>(bits >> 64));
}

/// Calls visit(index) for each set bit, ascending.
template <std::unsigned_integral Bits, class Visit>
void each_bit(Bits bits, Visit&& visit) {
  for (; bits; bits &= bits - 1) visit(static_cast<unsigned>(std::countr_zero(bits)));
}

}  // namespace thalweg
