// SPDX-License-Identifier: Apache-2.0
/* Intercommunicators between halves, and the calls that MPI itself executes for all ranks together. */
#include "check.h"

static void greet(MPI_Comm between, int upper) {
  const int one = 1;
  int others = 0, place, size, from = -1;
  MPI_Comm_rank(between, &place);
  MPI_Comm_remote_size(between, &size);
  CHECK(size == (upper ? ranks / 2 : ranks - ranks / 2));
  MPI_Allreduce(&one, &others, 1, MPI_INT, MPI_SUM, between);
  CHECK(others == size);
  if (place < ranks / 2) {
    MPI_Sendrecv(&rank, 1, MPI_INT, place, 3, &from, 1, MPI_INT, place, 3, between, MPI_STATUS_IGNORE);
    CHECK(from == (upper ? place : ranks / 2 + place));
  }
  MPI_Comm_free(&between);
}

/* Each rank puts its number at its right neighbour, and writes it to a file; ranks arrive at different times. */
static void write_together(const char* name) {
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  int* at;
  MPI_Win window;
  MPI_File file;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &at, &window);
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  for (int turn = 0; turn < 3; turn++) {
    const int mine = 100 * turn + rank;
    int read = -1;
    MPI_Win_fence(0, window);
    for (const double until = MPI_Wtime() + 1e-6 * rank; MPI_Wtime() < until;);
    MPI_Put(&mine, 1, MPI_INT, right, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    CHECK(*at == 100 * turn + left);
    for (const double until = MPI_Wtime() + 1e-6 * (ranks - rank); MPI_Wtime() < until;);
    MPI_File_write_at_all(file, rank * sizeof(int), &mine, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);
    MPI_File_read_at(file, left * sizeof(int), &read, 1, MPI_INT, MPI_STATUS_IGNORE);
    CHECK(read == 100 * turn + left);
  }
  MPI_File_close(&file);
  MPI_Win_free(&window);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const int upper = rank >= ranks / 2;
  MPI_Comm half, between;
  MPI_Group world, groups[2];
  int lower[1][3] = {{0, ranks / 2 - 1, 1}};
  MPI_Comm_split(MPI_COMM_WORLD, upper, 0, &half);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_range_incl(world, 1, lower, &groups[0]);
  MPI_Group_range_excl(world, 1, lower, &groups[1]);
  for (int i = 0; i < 3; i++) {
    const int leader = upper ? ranks - 1 - ranks / 2 : ranks / 2 - 1, other = upper ? ranks / 2 - 1 : ranks - 1;
    MPI_Intercomm_create(half, leader, MPI_COMM_WORLD, other, 9, &between);
    greet(between, upper);
    MPI_Intercomm_create_from_groups(groups[upper], 0, groups[!upper], 0, "halves", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                                     &between);
    greet(between, upper);
  }
  MPI_Group_free(&groups[0]);
  MPI_Group_free(&groups[1]);
  MPI_Group_free(&world);
  MPI_Comm_free(&half);
  write_together(argv[1]);
  return end();
}
