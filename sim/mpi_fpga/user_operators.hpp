// SPDX-License-Identifier: Apache-2.0
// User-defined operators and units, from a library built with thalweg_operator.hpp and thalweg_unit.hpp.
#pragma once

#include <string>
#include <vector>

#include "mpi_fpga/config.hpp"
#include "thalweg_mpi_fpga_spec.hpp"
#include "thalweg_spec.hpp"

namespace thalweg::mpi_fpga {

/// See `user_operator` in reduce/user_operator.hpp.
[[nodiscard]] inline const UserOperator* user_operator(const CollectiveConfig& config, spec::Operator op) {
  return user_operator(config.operators, op);
}

/// User-defined units on the path of a collective's packets; null: none.
[[nodiscard]] const UserUnits* user_units(const CollectiveConfig& config, spec::Collective collective,
                                          spec::Operator op);

/// Loads the operators and units of a shared library into `config`, operators in file order; the library stays loaded.
/// Throws std::invalid_argument with the reason if it has none or one cannot be built.
void load_operators(CollectiveConfig& config, const std::string& library);

}  // namespace thalweg::mpi_fpga
