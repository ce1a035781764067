// SPDX-License-Identifier: Apache-2.0
/* Starts two more processes, which sum with it and exit; with an argument they stay. */
#include <unistd.h>

#include "check.h"

int main(int argc, char** argv) {
  MPI_Comm parent, other, merged;
  int value, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL)
    MPI_Comm_spawn(argv[0], argv + 1, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
  else
    other = parent;
  value = parent == MPI_COMM_NULL ? rank : 10 + rank;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, other);
  CHECK(sum == (parent == MPI_COMM_NULL ? 10 + 11 : 0 + 1));
  MPI_Intercomm_merge(other, parent != MPI_COMM_NULL, &merged);
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, merged);
  CHECK(sum == 0 + 1 + 10 + 11);
  MPI_Comm_free(&merged);
  if (parent == MPI_COMM_NULL) {
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == 0 + 1);
    if (rank == 0) printf("all right\n");
  } else if (argc > 1) {
    pause();
  }
  MPI_Finalize();
  return 0;
}
