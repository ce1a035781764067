// SPDX-License-Identifier: Apache-2.0
// Combines the operands of a step in their fixed order.
//
// The order is that of two chains of lanes that meet at the end (MPI-FPGA, section 4.3): the operands are split into a
// first half of ceil(n/2) and a second half of floor(n/2), each half is folded from left to right, then the second
// result is combined into the first. n = 5: ((a + b) + c) + (d + e).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "reduce/lane.hpp"

namespace thalweg {

/// Combining steps on the longest path through a join of n operands.
[[nodiscard]] constexpr unsigned join_depth(std::size_t n) {
  return n < 2 ? 0u : static_cast<unsigned>((n + 1) / 2);
}

/// Writes the join of the operands, `bytes` each, to `result`, which may be the first operand; `scratch` has `bytes`
/// bytes. No other buffers may overlap.
inline void join(LaneFunction combine, std::span<const std::byte* const> operands, std::size_t elements,
                 std::size_t bytes, std::byte* result, std::byte* scratch) {
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

/// One flit of every operand, which enter a join together.
struct FlitOperands {
  spec::Operator op;
  spec::Datatype type;
  bool head;       ///< first flit of a packet: elements follow the header
  unsigned bytes;  ///< bytes of the flit, up to the end of its last element
  std::vector<Word<256>> operands;
  std::uint64_t tag;
};

/// Joins the flits of up to `inputs` operands per cycle; C++ model of rtl/reduce/tw_join.sv. The header is that of the
/// first operand; with several operands, bytes behind the elements become zero.
class FlitJoin {
 public:
  using Result = FlitLane::Result;

  /// `latency`: cycles of a lane, also for the user's `own` operators.
  FlitJoin(unsigned inputs, unsigned latency, std::vector<UserOperator> own = {})
      : latency_(latency), own_(std::move(own)), due_(1 + std::size_t{join_depth(inputs)} * latency) {}

  /// This cycle's result; null: none.
  [[nodiscard]] const Result* result() const { return due_[now_] ? &*due_[now_] : nullptr; }

  /// One clock edge. Throws std::logic_error if two results would fall into one cycle.
  void step(const FlitOperands* flits) {
    due_[now_].reset();
    if (flits) {
      const std::size_t after = 1 + std::size_t{join_depth(flits->operands.size())} * latency_;
      std::optional<Result>& due = due_[(now_ + after) % due_.size()];
      if (due) throw std::logic_error("two results of a join in one cycle");
      due = joined(*flits);
    }
    now_ = (now_ + 1) % due_.size();
  }

 private:
  [[nodiscard]] Result joined(const FlitOperands& flits) const {
    Result result{flits.operands.front(), flits.tag};
    if (flits.operands.size() == 1) return result;
    const std::size_t from = flits.head ? 8 : 0, bytes = flits.bytes - from;
    std::vector<const std::byte*> pieces;
    for (const auto& operand : flits.operands)
      pieces.push_back(reinterpret_cast<const std::byte*>(operand.data()) + from);
    std::array<std::byte, sizeof result.data> scratch;
    auto* data = reinterpret_cast<std::byte*>(result.data.data());
    join(lane(own_, flits.op, flits.type), pieces, bytes / spec::size_of(flits.type), bytes, data + from,
         scratch.data());
    std::fill(data + flits.bytes, data + sizeof result.data, std::byte{0});
    return result;
  }

  unsigned latency_;
  std::vector<UserOperator> own_;
  std::vector<std::optional<Result>> due_;  ///< circular, by cycle
  std::size_t now_ = 0;
};

}  // namespace thalweg
