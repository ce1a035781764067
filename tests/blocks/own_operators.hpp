// SPDX-License-Identifier: Apache-2.0
// The user's own operators, for modules that combine with them: those of examples/operators.
#pragma once

#include <vector>

#include "../examples/operators/operators.cpp"
#include "mpi_fpga/user_operators.hpp"

namespace blocks {

/// In the order of their file: the last one is at the head of the list.
[[nodiscard]] inline std::vector<thalweg::UserOperator> own_operators() {
  std::vector<thalweg::UserOperator> operators;
  for (auto entry = thalweg_operators; entry != nullptr; entry = entry->next)
    operators.insert(operators.begin(), {entry->name, entry->bytes, entry->latency, entry->combine});
  return operators;
}

}  // namespace blocks
