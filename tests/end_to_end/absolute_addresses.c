// SPDX-License-Identifier: Apache-2.0
/* absolute_addresses CALL: data at MPI_BOTTOM, by a type of absolute addresses. Rank 0 prints "right" if each rank gets what it
 * should. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  int rank, ranks, length = 2, all[128] = {0}, right = 1, everywhere = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int pair[2] = {rank, 2 * rank};
  const int before = (rank + ranks - 1) % ranks, after = (rank + 1) % ranks;
  MPI_Aint address;
  MPI_Datatype type;
  MPI_Get_address(pair, &address);
  MPI_Type_create_hindexed(1, &length, &address, MPI_INT, &type);
  MPI_Type_commit(&type);
  const char* call = argv[1];
  if (strcmp(call, "bcast") == 0) {
    MPI_Bcast(MPI_BOTTOM, 1, type, ranks - 1, MPI_COMM_WORLD);
    right = pair[0] == ranks - 1 && pair[1] == 2 * (ranks - 1);
  } else if (strcmp(call, "allgather") == 0) {
    MPI_Allgather(MPI_BOTTOM, 1, type, all, 2, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < ranks; i++) right &= all[2 * i] == i && all[2 * i + 1] == 2 * i;
  } else if (strcmp(call, "scatter") == 0) {
    for (int i = 0; i < 2 * ranks; i++) all[i] = 10 + i;
    MPI_Scatter(all, 2, MPI_INT, MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD);
    right = pair[0] == 10 + 2 * rank && pair[1] == 11 + 2 * rank;
  } else {
    MPI_Sendrecv_replace(MPI_BOTTOM, 1, type, after, 0, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    right = pair[0] == before && pair[1] == 2 * before;
  }
  MPI_Type_free(&type);
  MPI_Reduce(&right, &everywhere, 1, MPI_INT, MPI_LAND, 0, MPI_COMM_WORLD);
  if (rank == 0) puts(everywhere ? "right" : "wrong");
  MPI_Finalize();
  return 0;
}
