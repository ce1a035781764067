// SPDX-License-Identifier: Apache-2.0
// Arguments that MPI refuses. A call with one of them is passed to MPI itself, which calls the communicator's error handler before it
// exchanges anything, so the error has MPI's own class and text.
#pragma once

#include "mpi/interposer/compat.hpp"

namespace thalweg::mpi {

/// A datatype that exists and is committed.
bool usable(MPI_Datatype type);
/// No buffer, where `count` elements of a usable type begin at its address.
bool absent(const void* buffer, MPI_Count count, MPI_Datatype type);
/// The class of the error in data that no message and no collective can have; MPI_SUCCESS of others.
int error_in(const void* buffer, MPI_Count count, MPI_Datatype type);
/// The largest tag that a message can have.
int largest_tag();
/// True of buffers of a collective that are one and the same, where MPI wants MPI_IN_PLACE instead. Some MPIs take them.
bool aliased(const void* send, const void* receive);
/// Frees what MPI is asked by; before MPI_Finalize, and before the process's own communicator is freed.
void forget_arguments();

}  // namespace thalweg::mpi
