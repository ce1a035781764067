// SPDX-License-Identifier: Apache-2.0
// User-defined operators of the lanes, and units between hosts and switches.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "thalweg_spec.hpp"

namespace thalweg {

/// User-defined logic between a host and its switch: maps passing elements in place, one flit per cycle.
struct UserUnit {
  std::size_t bytes = 0;                                         ///< of one element
  unsigned latency = 0;                                          ///< cycles
  void (*map)(std::byte* data, std::size_t elements) = nullptr;  ///< null: none
};

/// `before`: unit for packets that enter the switch; `after`: for those that leave it for the host.
struct UserUnits {
  UserUnit before, after;
};

/// A user-defined operator in the switches, from Operator::user0: a unit that takes one pair of elements per lane and
/// cycle, like the built-in operators.
struct UserOperator {
  std::string name;
  std::size_t bytes = 0;  ///< of one element: 1, 2, 4, 8 or 16
  unsigned latency = 0;   ///< cycles
  /// Combines `elements` elements at `operand` into those at `accumulator`.
  void (*combine)(std::byte* accumulator, const std::byte* operand, std::size_t elements) = nullptr;
  UserUnits units{};  ///< units of reductions with this operator
};

/// Number of codes for user-defined operators in the header's operator field.
inline constexpr std::size_t kMaxUserOperators =
    static_cast<std::size_t>(spec::Operator::user2) - static_cast<std::size_t>(spec::Operator::user0) + 1;

/// The user-defined operator with a code; null if the code is a built-in operator's or unused.
[[nodiscard]] inline const UserOperator* user_operator(const std::vector<UserOperator>& operators, spec::Operator op) {
  const auto index = static_cast<std::size_t>(op) - static_cast<std::size_t>(spec::Operator::user0);
  return op >= spec::Operator::user0 && index < operators.size() ? &operators[index] : nullptr;
}

}  // namespace thalweg
