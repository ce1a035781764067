// SPDX-License-Identifier: Apache-2.0
#include "mpi/interposer/lifecycle.hpp"

#include <unistd.h>

#include "mpi/interposer/sessions.hpp"

namespace thalweg::mpi::on {
namespace {

int begin(int error) {
  if (error == MPI_SUCCESS) begin_world();
  return error;
}

}  // namespace

int Init(Native native) {
  return begin(native());
}

int Init_thread(int required, int* provided, int* argc, char*** argv) {
  const int error = begin(PMPI_Init_thread(argc, argv, required, provided));
  if (error != MPI_SUCCESS) return error;
  process().note_level(required, *provided);
  if (*provided == MPI_THREAD_MULTIPLE) process().begin_threads();
  return error;
}

int Finalize(Native native) {
  if (!process().joined()) return native();
  meet(*known(MPI_COMM_WORLD));
  forget_arguments();
  const int error = native();
  end_world();
  return error;
}

int Abort(Native native, int code) {
  process().abort(code);
  native();
  _exit(code);  // MPICH's MPI_Abort can return before its launcher ends the program
}

double Wtime() {
  if (!process().joined()) return PMPI_Wtime();
  process().look_at_clock();
  return process().seconds();
}

double Wtick() {
  return process().joined() ? process().tick_seconds() : PMPI_Wtick();
}

}  // namespace thalweg::mpi::on
