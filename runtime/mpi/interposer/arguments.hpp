// SPDX-License-Identifier: Apache-2.0
// Detection of invalid arguments. A call with one is passed to MPI itself, which calls the communicator's error handler before it
// communicates, so the error has MPI's own class and text.
#pragma once

#include "mpi/interposer/compat.hpp"

namespace thalweg::mpi {

/// True if the datatype exists and is committed.
bool usable(MPI_Datatype type);
/// True if the buffer is missing although `count` elements of a usable type need one.
bool absent(const void* buffer, MPI_Count count, MPI_Datatype type);
/// Error class of a buffer description that is invalid in every call, or MPI_SUCCESS.
int error_in(const void* buffer, MPI_Count count, MPI_Datatype type);
/// The largest valid tag of a message.
int largest_tag();
/// True if a collective's buffers are the same and MPI rejects that, as it requires MPI_IN_PLACE. Some MPIs accept it.
bool aliased(const void* send, const void* receive);
/// Frees the communicator used for these checks; called before MPI_Finalize and before the process's own communicator is freed.
void forget_arguments();

}  // namespace thalweg::mpi
