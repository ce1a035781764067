// SPDX-License-Identifier: Apache-2.0
/* On nodes of two ranks: the odd ones spin, without a call of MPI, until the even ones have exchanged messages. */
#include "check.h"

int main(int argc, char** argv) {
  MPI_Comm node;
  MPI_Win window;
  MPI_Aint bytes;
  int unit, value = 0;
  volatile int* flag;
  begin(&argc, &argv);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Win_allocate_shared(rank % 2 ? 0 : sizeof(int), sizeof(int), MPI_INFO_NULL, node, (void*)&flag, &window);
  MPI_Win_shared_query(window, 0, &bytes, &unit, (void*)&flag);
  if (rank % 2 == 0) *flag = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank % 2)
    while (!*flag);
  else {
    const int next = (rank + 2) % ranks, last = (rank + ranks - 2) % ranks;
    for (int i = 0; i < 20; i++)
      MPI_Sendrecv_replace(&value, 1, MPI_INT, next, 0, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    *flag = 1;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
  MPI_Comm_free(&node);
  return end();
}
