// Operators and units of the user's own, from a library that was built with thalweg_operator.hpp and thalweg_unit.hpp.
#pragma once

#include <string>
#include <vector>

#include "fabric/config.hpp"
#include "thalweg_spec.hpp"

namespace thalweg {

/// As many as the header's operator field has codes for.
inline constexpr std::size_t kMaxUserOperators =
    static_cast<std::size_t>(spec::Operator::user2) - static_cast<std::size_t>(spec::Operator::user0) + 1;

/// The one of the user's operators that a code stands for; null where it is one of the hardware's own, or none was given.
[[nodiscard]] inline const UserOperator* user_operator(const std::vector<UserOperator>& operators, spec::Operator op) {
  const auto index = static_cast<std::size_t>(op) - static_cast<std::size_t>(spec::Operator::user0);
  return op >= spec::Operator::user0 && index < operators.size() ? &operators[index] : nullptr;
}
[[nodiscard]] inline const UserOperator* user_operator(const CollectiveConfig& config, spec::Operator op) {
  return user_operator(config.operators, op);
}

/// The units that a collective's packets pass; null: none.
[[nodiscard]] const UserUnits* user_units(const CollectiveConfig& config, spec::Collective collective,
                                          spec::Operator op);

/// Puts the operators and units of a shared library into the switches, operators in the order of its file; it stays loaded.
/// Throws std::invalid_argument, which says what is wrong, where it has none or one cannot be built.
void load_operators(CollectiveConfig& config, const std::string& library);

}  // namespace thalweg
