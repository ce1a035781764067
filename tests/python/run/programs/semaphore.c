// SPDX-License-Identifier: Apache-2.0
/* A semaphore in a window of rank 0, by fetch-and-op and flush, that each rank takes repeatedly: semaphore TIMES. */
#include "check.h"

int main(int argc, char** argv) {
  MPI_Win window;
  int *at, one = 1, less = -1, old, inside, times = 0;
  begin(&argc, &argv);
  const int turns = atoi(argv[1]);
  MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &at, &window);
  at[0] = at[1] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < turns; i++) {
    for (;;) {
      MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 0, MPI_SUM, window);
      MPI_Win_flush(0, window);
      if (old < 1) break;
      MPI_Fetch_and_op(&less, &old, MPI_INT, 0, 0, MPI_SUM, window);
      MPI_Win_flush(0, window);
    }
    MPI_Get(&inside, 1, MPI_INT, 0, 1, 1, MPI_INT, window);
    MPI_Win_flush(0, window);
    inside++;
    MPI_Put(&inside, 1, MPI_INT, 0, 1, 1, MPI_INT, window);
    MPI_Win_flush(0, window);
    MPI_Fetch_and_op(&less, &old, MPI_INT, 0, 0, MPI_SUM, window);
    MPI_Win_flush(0, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Get(&times, 1, MPI_INT, 0, 1, 1, MPI_INT, window);
  MPI_Win_flush(0, window);
  MPI_Win_unlock_all(window);
  CHECK(times == ranks * turns);
  MPI_Win_free(&window);
  return end();
}
