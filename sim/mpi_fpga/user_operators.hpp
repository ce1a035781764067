// SPDX-License-Identifier: Apache-2.0
// User-defined operators and units, from a library that was built with thalweg_operator.hpp and thalweg_unit.hpp.
#pragma once

#include <string>
#include <vector>

#include "mpi_fpga/config.hpp"
#include "thalweg_mpi_fpga_spec.hpp"
#include "thalweg_spec.hpp"

namespace thalweg::mpi_fpga {

/// As `user_operator` of reduce/user_operator.hpp.
[[nodiscard]] inline const UserOperator* user_operator(const CollectiveConfig& config, spec::Operator op) {
  return user_operator(config.operators, op);
}

/// The units that a collective's packets pass; null: none.
[[nodiscard]] const UserUnits* user_units(const CollectiveConfig& config, spec::Collective collective,
                                          spec::Operator op);

/// Puts the operators and units of a shared library into the switches, operators in the order of its file; it stays loaded.
/// Throws std::invalid_argument, which says what is wrong, where it has none or one cannot be built.
void load_operators(CollectiveConfig& config, const std::string& library);

}  // namespace thalweg::mpi_fpga
