// SPDX-License-Identifier: Apache-2.0
/* One-sided calls beside calls that take virtual time: their target waits, their result arrives late, and a lock's
 * holder waits. */
#include "check.h"

enum { TURNS = 20 };

static MPI_Win window;
static int* at;

/* Rank 0 waits in a barrier while all others increment a counter in its window. */
static void target_waits(void) {
  const int one = 1;
  int old, sum = 0;
  MPI_Win_lock_all(0, window);
  for (int i = 0; rank != 0 && i < TURNS; i++) {
    MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 0, MPI_SUM, window);
    MPI_Win_flush(0, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Get(&sum, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
  MPI_Win_flush(0, window);
  MPI_Win_unlock_all(window);
  CHECK(sum == TURNS * (ranks - 1));
}

/* Rank 1 polls for a flag, which rank 0 sets after it has exchanged messages with rank 2. */
static void result_waits(void) {
  const int one = 1;
  int flag = 0, value = 0;
  MPI_Win_lock_all(0, window);
  while (rank == 1 && !flag) {
    MPI_Get(&flag, 1, MPI_INT, 0, 1, 1, MPI_INT, window);
    MPI_Win_flush(0, window);
  }
  for (int i = 0; rank % 2 == 0 && i < TURNS; i++)
    MPI_Sendrecv_replace(&value, 1, MPI_INT, 2 - rank, 0, 2 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 0) MPI_Accumulate(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_REPLACE, window);
  MPI_Win_unlock_all(window);
}

/* Data that the last rank has put and flushed are in rank 0's memory before a message announces them. */
static void flushed_is_there(void) {
  MPI_Win_lock_all(0, window);
  for (int i = 1; i <= TURNS; i++) {
    if (rank == ranks - 1) {
      MPI_Put(&i, 1, MPI_INT, 0, 3, 1, MPI_INT, window);
      MPI_Win_flush(0, window);
      MPI_Send(NULL, 0, MPI_INT, 1, 2, MPI_COMM_WORLD);
    }
    if (rank == 1) {
      MPI_Recv(NULL, 0, MPI_INT, ranks - 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(NULL, 0, MPI_INT, 0, 2, MPI_COMM_WORLD);
    }
    if (rank == 0) {
      MPI_Recv(NULL, 0, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Win_sync(window);
      CHECK(*(volatile int*)&at[3] == i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_unlock_all(window);
}

/* Each rank holds the lock while a message to itself, and time, passes. */
static void holder_waits(void) {
  int value, other, sum;
  for (int i = 0; i < 5; i++) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Get(&value, 1, MPI_INT, 0, 2, 1, MPI_INT, window);
    MPI_Win_flush(0, window);
    value++;
    MPI_Sendrecv(&i, 1, MPI_INT, rank, 1, &other, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (const double until = MPI_Wtime() + 1e-7; MPI_Wtime() < until;);
    MPI_Put(&value, 1, MPI_INT, 0, 2, 1, MPI_INT, window);
    MPI_Win_unlock(0, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
  MPI_Get(&sum, 1, MPI_INT, 0, 2, 1, MPI_INT, window);
  MPI_Win_unlock(0, window);
  CHECK(sum == 5 * ranks);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &at, &window);
  at[0] = at[1] = at[2] = at[3] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  target_waits();
  result_waits();
  flushed_is_there();
  holder_waits();
  MPI_Win_free(&window);
  return end();
}
