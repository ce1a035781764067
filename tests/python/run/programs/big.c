// SPDX-License-Identifier: Apache-2.0
/* Counts, displacements and extents beyond the range of an int. The buffers are large, and hardly touched. */
#include <sys/mman.h>

#include "check.h"

#define FAR ((MPI_Count)1 << 31) /* bytes; twice as many exceed 32 bits */
#define MOST 8

static char* room(MPI_Count bytes) {
  char* memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(memory != MAP_FAILED);
  return memory;
}

static int* at(char* memory, MPI_Count place) {
  return (int*)(memory + place);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  char *given = room((MOST + 1) * (FAR + 8)), *taken = room((MOST + 1) * (FAR + 8));
  const MPI_Comm world = MPI_COMM_WORLD;

  /* Elements more than 2 GB apart. */
  MPI_Datatype sparse;
  MPI_Type_create_resized(MPI_INT, 0, FAR + 8, &sparse);
  MPI_Type_commit(&sparse);
  for (int i = 0; i < ranks; i++) *at(given, i * (FAR + 8)) = 100 * rank + i;
  MPI_Alltoall(given, 1, sparse, taken, 1, sparse, world);
  for (int i = 0; i < ranks; i++) CHECK(*at(taken, i * (FAR + 8)) == 100 * i + rank);
  MPI_Allgather(&rank, 1, MPI_INT, taken, 1, sparse, world);
  for (int i = 0; i < ranks; i++) CHECK(*at(taken, i * (FAR + 8)) == i);
  MPI_Scatter(given, 1, sparse, taken, 1, MPI_INT, ranks - 1, world);
  CHECK(*at(taken, 0) == 100 * (ranks - 1) + rank);
  MPI_Bcast(given, ranks, sparse, 1, world);
  for (int i = 0; i < ranks; i++) CHECK(*at(given, i * (FAR + 8)) == 100 + i);
  MPI_Sendrecv(given, ranks, sparse, (rank + 1) % ranks, 0, taken, ranks, sparse, (rank + ranks - 1) % ranks, 0, world,
               MPI_STATUS_IGNORE);
  for (int i = 0; i < ranks; i++) CHECK(*at(taken, i * (FAR + 8)) == 100 + i);
  MPI_Type_free(&sparse);

  /* Displacements in the functions of large counts. */
  MPI_Count counts[MOST];
  MPI_Aint places[MOST];
  for (int i = 0; i < ranks; i++) {
    counts[i] = sizeof(int);
    places[i] = (ranks - i) * (FAR + 4);
    *at(given, places[i]) = 1000 * rank + i;
  }
  MPI_Alltoallv_c(given, counts, places, MPI_BYTE, taken, counts, places, MPI_BYTE, world);
  for (int i = 0; i < ranks; i++) CHECK(*at(taken, places[i]) == 1000 * i + rank);
  MPI_Allgatherv_c(&rank, sizeof rank, MPI_BYTE, taken, counts, places, MPI_BYTE, world);
  for (int i = 0; i < ranks; i++) CHECK(*at(taken, places[i]) == i);
  MPI_Request request;
  MPI_Igatherv_c(&rank, sizeof rank, MPI_BYTE, taken, counts, places, MPI_BYTE, 0, world, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);

  /* Large counts of elements without data; 4 G + 1 would be 1 in 32 bits. */
  MPI_Datatype empty;
  MPI_Type_contiguous(0, MPI_INT, &empty);
  MPI_Type_commit(&empty);
  MPI_Bcast_c(given, 2 * FAR + 1, empty, 0, world);
  MPI_Alltoall_c(given, FAR + 1, empty, taken, FAR + 1, empty, world);
  MPI_Type_free(&empty);

  /* With an argument: that number of bytes in a reduction, in a broadcast, and in a message. */
  if (argc > 1) {
    const MPI_Count bytes = atoll(argv[1]);
    CHECK(bytes <= (MOST + 1) * FAR);
    memset(given, 0, 2 * sizeof(int) * MOST);
    given[bytes - 1] = given[bytes / 2] = (char)(rank + 1);
    MPI_Reduce_c(rank == 0 ? MPI_IN_PLACE : given, given, bytes, MPI_UINT8_T, MPI_SUM, 0, world);
    CHECK(rank != 0 || (given[bytes - 1] == ranks * (ranks + 1) / 2 && given[bytes / 2] == given[bytes - 1]));
    if (rank == 0) given[0] = 1, given[bytes / 2] = 2, given[bytes - 1] = 3;
    MPI_Bcast_c(given, bytes, MPI_BYTE, 0, world);
    CHECK(given[0] == 1 && given[bytes / 2] == 2 && given[bytes - 1] == 3);
    MPI_Status status;
    MPI_Count got = 0;
    if (rank == 0) MPI_Send_c(given, bytes, MPI_BYTE, 1, 0, world);
    if (rank == 1) {
      MPI_Recv_c(taken, bytes, MPI_BYTE, 0, 0, world, &status);
      MPI_Get_count_c(&status, MPI_BYTE, &got);
      CHECK(got == bytes && taken[0] == 1 && taken[bytes / 2] == 2 && taken[bytes - 1] == 3);
    }
  }
  return end();
}
