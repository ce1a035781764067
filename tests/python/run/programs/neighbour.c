// SPDX-License-Identifier: Apache-2.0
/* Collectives, messages and a split communicator, checked; prints the results of each rank. Runs beside others of
 * its kind. */
#include "check.h"

int main(int c, char** v) {
  begin(&c, &v);
  double x[500], sum[500];
  for (int i = 0; i < 500; i++) x[i] = rank + 0.5 * i;
  MPI_Allreduce(x, sum, 500, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < 500; i++) CHECK(sum[i] == ranks * (ranks - 1) / 2 + ranks * 0.5 * i);
  int token = rank, from = (rank + ranks - 1) % ranks;
  MPI_Sendrecv_replace(&token, 1, MPI_INT, (rank + 1) % ranks, 7, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(token == from);
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  int all[64], size;
  MPI_Comm_size(half, &size);
  MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, half);
  for (int i = 0; i < size; i++) CHECK(all[i] == 2 * i + rank % 2);
  MPI_Status status;
  if (rank == 1) MPI_Send(x, 500, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD);
  if (rank == 0) MPI_Recv(sum, 500, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  CHECK(rank != 0 || (status.MPI_SOURCE == 1 && status.MPI_TAG == 3));
  MPI_Comm_free(&half);
  if (c > 1 && rank == 2) MPI_Abort(MPI_COMM_WORLD, 9);
  printf("rank %d of %d\n", rank, ranks);
  return end();
}
