// SPDX-License-Identifier: Apache-2.0
// Maps the program's MPI operations to user-defined operators in the switches.
#pragma once

#include <optional>

#include "mpi/interposer/request.hpp"
#include "thalweg_spec.hpp"

namespace thalweg::mpi {

struct NetworkOperator {
  spec::Operator op;
  spec::Datatype carrier;  ///< type with the size of an element of the operator
};

/// Operator that computes `op` in the switches, if the program has declared it (thalweg_mpi.h) and the run has it.
[[nodiscard]] std::optional<NetworkOperator> network_operator(MPI_Op op);

namespace on {

int Op_free(Native native, MPI_Op* op);

}  // namespace on
}  // namespace thalweg::mpi
