// SPDX-License-Identifier: Apache-2.0
// Initialization of MPI: by MPI_Init, which creates a world, by sessions, or by both.
#pragma once

#include "mpi/interposer/request.hpp"

namespace thalweg::mpi {

/// A group of all ranks of the program, which the caller frees.
MPI_Group world_group();

/// MPI_Init has begun MPI, and joins the run.
void begin_world();
/// After PMPI_Finalize.
void end_world();

#if MPI_VERSION >= 4
namespace on {

int Session_init(Native native, const MPI_Session* session);
/// With the last one the rank leaves the run, unless it has a world.
int Session_finalize(Native native, const MPI_Session* session);

}  // namespace on
#endif
}  // namespace thalweg::mpi
