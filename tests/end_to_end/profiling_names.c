// SPDX-License-Identifier: Apache-2.0
/* Calls functions by the names MPI(name): MPI_name, or PMPI_name as a tool does. Rank 0 prints "right". */
#include <mpi.h>
#include <stdio.h>

#ifdef DIRECT
#define MPI(name) PMPI_##name
#else
#define MPI(name) MPI_##name
#endif

int main(int argc, char** argv) {
  int rank, ranks, sum, from, level;
  MPI_Request requests[2];
  MPI(Init_thread)(&argc, &argv, MPI_THREAD_SINGLE, &level);
  MPI(Comm_rank)(MPI_COMM_WORLD, &rank);
  MPI(Comm_size)(MPI_COMM_WORLD, &ranks);
  MPI_Comm copy;
  MPI(Comm_dup)(MPI_COMM_WORLD, &copy);
  int (*volatile reduce)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm) = MPI(Allreduce);
  reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copy);
  MPI(Irecv)(&from, 1, MPI_INT, (rank + ranks - 1) % ranks, 0, copy, &requests[0]);
  MPI(Isend)(&rank, 1, MPI_INT, (rank + 1) % ranks, 0, copy, &requests[1]);
  MPI(Waitall)(2, requests, MPI_STATUSES_IGNORE);
  const double end = MPI(Wtime)();
  if (sum != ranks * (ranks - 1) / 2 || from != (rank + ranks - 1) % ranks) MPI(Abort)(MPI_COMM_WORLD, 3);
  if (rank == 0) printf("right at %.9f\n", end);
  MPI(Finalize)();
  return 0;
}
