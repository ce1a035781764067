// SPDX-License-Identifier: Apache-2.0
// User-defined operators of the lanes, and units between hosts and switches.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "thalweg_spec.hpp"

namespace thalweg {

/// Logic of the user's own between a host and its switch: maps the elements of what passes, in place, a flit a cycle.
struct UserUnit {
  std::size_t bytes = 0;                                         ///< of an element
  unsigned latency = 0;                                          ///< cycles
  void (*map)(std::byte* data, std::size_t elements) = nullptr;  ///< null: there is none
};

/// What enters the switch passes the one, what leaves it for the host the other.
struct UserUnits {
  UserUnit before, after;
};

/// An operator that the user puts into the switches, as Operator::user0 and on: a unit that takes a pair of elements a lane
/// and cycle, like those of the other operators.
struct UserOperator {
  std::string name;
  std::size_t bytes = 0;  ///< of an element: 1, 2, 4, 8 or 16
  unsigned latency = 0;   ///< cycles
  /// Combines `elements` elements at `operand` into those at `accumulator`.
  void (*combine)(std::byte* accumulator, const std::byte* operand, std::size_t elements) = nullptr;
  UserUnits units{};  ///< of reductions with it
};

/// As many as the header's operator field has codes for.
inline constexpr std::size_t kMaxUserOperators =
    static_cast<std::size_t>(spec::Operator::user2) - static_cast<std::size_t>(spec::Operator::user0) + 1;

/// The one of the user's operators that a code stands for; null where it is one of the hardware's own, or none was given.
[[nodiscard]] inline const UserOperator* user_operator(const std::vector<UserOperator>& operators, spec::Operator op) {
  const auto index = static_cast<std::size_t>(op) - static_cast<std::size_t>(spec::Operator::user0);
  return op >= spec::Operator::user0 && index < operators.size() ? &operators[index] : nullptr;
}

}  // namespace thalweg
