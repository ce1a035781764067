// SPDX-License-Identifier: Apache-2.0
// Initialization of MPI: by MPI_Init, which creates a world, by sessions, or by both.
#pragma once

#include "mpi/interposer/request.hpp"

namespace thalweg::mpi {

/// A group of all ranks of the program, to be freed by the caller.
MPI_Group world_group();

/// Called after MPI_Init has initialised MPI; joins the run.
void begin_world();
/// Called after PMPI_Finalize.
void end_world();

#if THALWEG_SESSIONS
namespace on {

int Session_init(Native native, const MPI_Session* session);
/// The rank leaves the run with its last session, unless it has a world.
int Session_finalize(Native native, const MPI_Session* session);

}  // namespace on
#endif
}  // namespace thalweg::mpi
