// SPDX-License-Identifier: Apache-2.0
// Initialization, finalization and time of a rank.
#pragma once

#include "mpi/interposer/collectives.hpp"

namespace thalweg::mpi::on {

int Init(Native native);
int Init_thread(int required, int* provided, int* argc, char*** argv);
int Finalize(Native native);
int Abort(Native native, int code);
/// Virtual seconds since MPI_Init.
double Wtime();
double Wtick();

}  // namespace thalweg::mpi::on
