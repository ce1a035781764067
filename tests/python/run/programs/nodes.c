// SPDX-License-Identifier: Apache-2.0
/* Collectives on communicators whose ranks share nodes unevenly, and in orders other than that of the nodes. */
#include "check.h"

#define MOST 16

static int below(int n) {
  return n * (n - 1) / 2;
}

static void on(MPI_Comm comm) {
  int me, size, got, given[MOST], all[MOST];
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &size);
  for (int root = 0; root < size; root++) {
    got = me == root ? 7 + root : -1;
    MPI_Bcast(&got, 1, MPI_INT, root, comm);
    CHECK(got == 7 + root);
    got = -1;
    MPI_Reduce(&me, &got, 1, MPI_INT, MPI_SUM, root, comm);
    CHECK(got == (me == root ? below(size) : -1));
    for (int i = 0; i < size; i++) {
      given[i] = 100 * me + i;
      all[i] = -1;
    }
    MPI_Gather(&me, 1, MPI_INT, all, 1, MPI_INT, root, comm);
    for (int i = 0; i < size; i++) CHECK(all[i] == (me == root ? i : -1));
    MPI_Scatter(given, 1, MPI_INT, me == root ? MPI_IN_PLACE : &got, 1, MPI_INT, root, comm);
    CHECK(me == root || got == 100 * root + me);
  }
  MPI_Barrier(comm);
  MPI_Allreduce(&me, &got, 1, MPI_INT, MPI_SUM, comm);
  CHECK(got == below(size));
  MPI_Allgather(&me, 1, MPI_INT, all, 1, MPI_INT, comm);
  for (int i = 0; i < size; i++) CHECK(all[i] == i);
  MPI_Alltoall(given, 1, MPI_INT, all, 1, MPI_INT, comm);
  for (int i = 0; i < size; i++) CHECK(all[i] == 100 * i + me);
  MPI_Reduce_scatter_block(given, &got, 1, MPI_INT, MPI_SUM, comm);
  CHECK(got == 100 * below(size) + size * me);
  MPI_Scan(&me, &got, 1, MPI_INT, MPI_SUM, comm);
  CHECK(got == below(me + 1));
  got = -1;
  MPI_Exscan(&me, &got, 1, MPI_INT, MPI_SUM, comm);
  CHECK(got == (me ? below(me) : -1));

  MPI_Request requests[3];
  int sum = 0, prefix = 0, first = me == 0 ? 5 : 0;
  MPI_Iallreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[0]);
  MPI_Iscan(&me, &prefix, 1, MPI_INT, MPI_SUM, comm, &requests[1]);
  MPI_Ibcast(&first, 1, MPI_INT, 0, comm, &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  CHECK(sum == below(size) && prefix == below(me + 1) && first == 5);
}

int main(int argc, char** argv) {
  MPI_Comm part;
  begin(&argc, &argv);
  on(MPI_COMM_WORLD);
  const int colours[] = {rank < 5, rank % 3 == 0, rank == 3, 0, 0},
            keys[] = {rank, rank, rank, -rank, rank % 2 * ranks + rank};
  for (int i = 0; i < 5; i++) {
    MPI_Comm_split(MPI_COMM_WORLD, colours[i], keys[i], &part);
    on(part);
    MPI_Comm_free(&part);
  }
  return end();
}
