// SPDX-License-Identifier: Apache-2.0
/* Programs that cannot proceed, or end badly: misbehave WHAT. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  int rank, ranks, value = 0, sum = 0;
  if (!strcmp(what, "no-init")) return 3;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int last = rank == ranks - 1;

  if (!strcmp(what, "exit-code")) {
    MPI_Finalize();
    return last ? 7 : 0;
  }
  if (!strcmp(what, "abort") && last) MPI_Abort(MPI_COMM_WORLD, 5);
  if (!strcmp(what, "killed") && last) raise(SIGKILL);
  if (!strcmp(what, "crash") && last) raise(SIGSEGV);
  if (!strcmp(what, "leaves") && last) _exit(0);
  if (!strcmp(what, "skips-collective") && last) {
    MPI_Finalize();
    return 0;
  }
  if (!strcmp(what, "receive-receive")) /* every rank waits for its right neighbour, none sends */
    MPI_Recv(&value, 1, MPI_INT, (rank + 1) % ranks, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (!strcmp(what, "wrong-tag")) {
    if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (!strcmp(what, "other-order")) {
    if (last)
      MPI_Barrier(MPI_COMM_WORLD), MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    else
      MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD), MPI_Barrier(MPI_COMM_WORLD);
  }
  if (!strcmp(what, "other-root")) MPI_Bcast(&value, 1, MPI_INT, last ? 1 : 0, MPI_COMM_WORLD);
  if (!strcmp(what, "other-count")) {
    int many[4] = {0}, sums[4];
    MPI_Allreduce(many, sums, last ? 4 : 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  if (!strcmp(what, "other-operation"))
    MPI_Allreduce(&value, &sum, 1, MPI_INT, last ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (sum != ranks * (ranks - 1) / 2) return 9;
  return 0;
}
