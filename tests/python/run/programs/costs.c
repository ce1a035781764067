// SPDX-License-Identifier: Apache-2.0
/* Processor time of a call in us, minimum of several rounds: of MPI_Comm_dup with MPI_Comm_free, and of a flush. */
#include <sys/resource.h>

#include "check.h"

enum { CALLS = 100, ROUNDS = 7 };

static double used(void) {
  struct rusage self;
  getrusage(RUSAGE_SELF, &self);
  return 1e6 * (self.ru_utime.tv_sec + self.ru_stime.tv_sec) + self.ru_utime.tv_usec + self.ru_stime.tv_usec;
}

static void duplicate(MPI_Win window) {
  MPI_Comm copy;
  (void)window;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_free(&copy);
}

static void flush(MPI_Win window) {
  const int one = 1;
  MPI_Put(&one, 1, MPI_INT, (rank + 1) % ranks, 0, 1, MPI_INT, window);
  MPI_Win_flush((rank + 1) % ranks, window);
}

static double least(void (*call)(MPI_Win), MPI_Win window) {
  double best = 1e9;
  for (int round = 0; round < ROUNDS; round++) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double before = used();
    for (int i = 0; i < CALLS; i++) call(window);
    double own = (used() - before) / CALLS, all;
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (all / ranks < best) best = all / ranks;
  }
  return best;
}

int main(int argc, char** argv) {
  MPI_Win window;
  int* at;
  begin(&argc, &argv);
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &at, &window);
  MPI_Win_lock_all(0, window);
  const double flushed = least(flush, window);
  MPI_Win_unlock_all(window);
  const double duplicated = least(duplicate, window);
  if (rank == 0) printf("%.1f %.1f\n", duplicated, flushed);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
