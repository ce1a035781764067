// SPDX-License-Identifier: Apache-2.0
/* Wall-clock time in us of an accumulate under an exclusive lock, completed by its request, if all ranks do so at
 * once and there are more ranks than processors; with MPI_THREAD_MULTIPLE. */
#include <time.h>

#include "check.h"

enum { TURNS = 100 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e6 * time.tv_sec + 1e-3 * time.tv_nsec;
}

int main(int argc, char** argv) {
  int provided, queried, *at;
  const int one = 1;
  MPI_Win window;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Query_thread(&queried);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(queried == provided);
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &at, &window);
  *at = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double before = now();
  for (int turn = 0; turn < TURNS; turn++)
    for (int target = 0; target < ranks; target++) {
      MPI_Request request;
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window);
      MPI_Raccumulate(&one, 1, MPI_INT, target, 0, 1, MPI_INT, MPI_SUM, window, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Win_unlock(target, window);
    }
  MPI_Barrier(MPI_COMM_WORLD);
  const double each = (now() - before) / (TURNS * ranks);
  CHECK(*at == TURNS * ranks);
  if (rank == 0) printf("%d %.1f\n", provided == MPI_THREAD_MULTIPLE, each);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
