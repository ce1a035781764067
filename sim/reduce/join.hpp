// Combines the operands of a step in their fixed order.
//
// The order is that of two chains of lanes that meet at the end (MPI-FPGA, section 4.3): the operands are split into a
// first half of ceil(n/2) and a second half of floor(n/2), each half is folded from left to right, then the second
// result is combined into the first. n = 5: ((a + b) + c) + (d + e).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "reduce/lane.hpp"

namespace thalweg {

/// Combining steps on the longest path through a join of n operands.
[[nodiscard]] constexpr unsigned join_depth(std::size_t n) {
  return n < 2 ? 0u : static_cast<unsigned>((n + 1) / 2);
}

/// Writes the join of the operands, `bytes` each, to `result`, which may be the first of them; `scratch` has room for as
/// much. Nothing else may overlap.
inline void join(Lane combine, std::span<const std::byte* const> operands, std::size_t elements, std::size_t bytes,
                 std::byte* result, std::byte* scratch) {
  const auto fold = [&](std::span<const std::byte* const> chain, std::byte* into) {
    if (into != chain.front()) std::copy_n(chain.front(), bytes, into);
    for (const std::byte* operand : chain.subspan(1)) combine(into, operand, elements);
  };
  const std::size_t half = (operands.size() + 1) / 2;
  fold(operands.first(half), result);
  if (operands.size() - half == 1)
    combine(result, operands[half], elements);
  else if (operands.size() > half) {
    fold(operands.subspan(half), scratch);
    combine(result, scratch, elements);
  }
}

}  // namespace thalweg
