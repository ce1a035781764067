// SPDX-License-Identifier: Apache-2.0
// Creation, end and join of the program's threads.
#pragma once

namespace thalweg::mpi {

/// True if the caller is in a parallel region of OpenMP, whose threads may sleep without having called MPI yet.
bool in_parallel_region();

}  // namespace thalweg::mpi
