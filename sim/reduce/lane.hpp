// SPDX-License-Identifier: Apache-2.0
// Arithmetic of the network: the result of an operator on two elements.
//
// Every result is a function of the two operands' values alone and does not depend on their order:
//  - integers wrap; logical operators give 0 or 1;
//  - floating sums and products are rounded to nearest even, once, and a NaN is the canonical quiet NaN (positive, top
//    fraction bit alone). fp16 is computed in fp32 and rounded: 24 bits are at least 2 * 11 + 2, so the second rounding
//    changes nothing;
//  - min and max: a NaN wins, and is canonical; -0 is smaller than +0. (A software MPI that compares with < would give
//    different results on different ranks.)
//  - minloc and maxloc: a NaN wins over every number; among equal values (-0 equals +0) the lowest index wins, at equal
//    index -0 is smaller than +0. The winner is kept whole; unused bytes of the pair become zero. Among indices of
//    floating type -0 precedes +0, and a NaN comes last.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/types.hpp"
#include "reduce/user_operator.hpp"
#include "thalweg_spec.hpp"

namespace thalweg {

/// Combines `elements` elements at `operand` into those at `accumulator`. The two must not overlap.
using LaneFunction = void (*)(std::byte* accumulator, const std::byte* operand, std::size_t elements);

/// The lane of an (operator, type) pair; null if the hardware has none (spec::supported).
[[nodiscard]] LaneFunction lane(spec::Operator op, spec::Datatype type);
/// The same, including user-defined operators.
[[nodiscard]] LaneFunction lane(const std::vector<UserOperator>& own, spec::Operator op, spec::Datatype type);

/// A pair of flits that enters a lane.
struct FlitPair {
  spec::Operator op;
  spec::Datatype type;
  bool head;       ///< first flit of a packet: elements follow the header
  unsigned bytes;  ///< bytes of the flit, up to the end of its last element
  Word<256> a, b;
  std::uint64_t tag;
};

/// Combines one pair of flits per cycle; C++ model of rtl/reduce/tw_lane.sv. The header is that of a; bytes behind the
/// elements become zero.
class FlitLane {
 public:
  struct Result {
    Word<256> data;
    std::uint64_t tag;
  };

  /// `latency`: cycles from pair to result; user-defined operators have their own.
  explicit FlitLane(unsigned latency, std::vector<UserOperator> own = {});

  /// This cycle's result; null: none.
  [[nodiscard]] const Result* result() const { return due_[now_] ? &*due_[now_] : nullptr; }

  /// One clock edge. Throws std::logic_error if two results would fall into one cycle.
  void step(const FlitPair* pair);

 private:
  [[nodiscard]] Result combined(const FlitPair& pair) const;

  unsigned latency_;
  std::vector<UserOperator> own_;
  std::vector<std::optional<Result>> due_;  ///< circular, by cycle
  std::size_t now_ = 0;
};

}  // namespace thalweg
