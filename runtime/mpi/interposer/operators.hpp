// SPDX-License-Identifier: Apache-2.0
// User-defined operators in the switches, and the program's MPI operations that they compute.
#pragma once

#include <optional>

#include "mpi/interposer/request.hpp"
#include "thalweg_spec.hpp"

namespace thalweg::mpi {

struct NetworkOperator {
  spec::Operator op;
  spec::Datatype carrier;  ///< a type as long as an element of the operator
};

/// What computes `op` in the switches, where the program has said so (thalweg_mpi.h) and the run has that operator.
[[nodiscard]] std::optional<NetworkOperator> network_operator(MPI_Op op);

namespace on {

int Op_free(Native native, MPI_Op* op);

}  // namespace on
}  // namespace thalweg::mpi
