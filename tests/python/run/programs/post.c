// SPDX-License-Identifier: Apache-2.0
/* Operations that rank 0 completed before a barrier are visible after it, in the others' first MPI_Win_test. */
#include "check.h"

int main(int argc, char** argv) {
  const int root = 0;
  int there, at = 0;
  MPI_Win window;
  MPI_Group world, first, others;
  begin(&argc, &argv);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &root, &first);
  MPI_Group_excl(world, 1, &root, &others);
  MPI_Win_create(&at, sizeof at, sizeof at, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  for (int turn = 0; turn < 100; turn++) {
    if (rank == 0) {
      MPI_Win_start(others, 0, window);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Win_complete(window);
      MPI_Barrier(MPI_COMM_WORLD);
    } else {
      MPI_Win_post(first, 0, window);
      MPI_Win_test(window, &there);
      CHECK(!there);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Win_test(window, &there);
      CHECK(there);
      if (!there) MPI_Win_wait(window);
    }
  }
  MPI_Win_free(&window);
  return end();
}
