// SPDX-License-Identifier: Apache-2.0
// Sets of small numbers, as bit masks.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <span>

namespace thalweg {

/// A set of numbers below 128.
__extension__ using Wide = unsigned __int128;

/// The lowest member of a non-empty set.
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

/// Returns `count` bits, 1 to 64, from bit `from`; bit 0 is the lowest of the first word.
[[nodiscard]] constexpr std::uint64_t get_bits(std::span<const std::uint64_t> words, unsigned from, unsigned count) {
  const unsigned shift = from % 64;
  std::uint64_t value = words[from / 64] >> shift;
  if (shift + count > 64) value |= words[from / 64 + 1] << (64 - shift);
  return value & ~std::uint64_t{0} >> (64 - count);
}
/// Writes `value` to bits that must be 0; it must fit into `words`.
constexpr void put_bits(std::span<std::uint64_t> words, unsigned from, std::uint64_t value) {
  const unsigned shift = from % 64;
  words[from / 64] |= value << shift;
  if (shift && value >> (64 - shift)) words[from / 64 + 1] |= value >> (64 - shift);
}

}  // namespace thalweg
