// SPDX-License-Identifier: Apache-2.0
/* Persistent collectives, in the network and outside it: started repeatedly, together, beside others, and freed. */
#include "check.h"

#define MOST 64
#define TURNS 3

enum { BARRIER, BCAST, REDUCE, ALLREDUCE, GATHER, ALLGATHER, IN_PLACE, ALLTOALL, SCATTERV, COUNT };

static int value, sum, total, own, all[MOST], everyone[MOST], most, out[MOST], in[MOST], counts[MOST], places[MOST],
    part;

static void make(MPI_Comm comm, int root, MPI_Request* requests) {
  MPI_Datatype pair;
  MPI_Barrier_init(comm, MPI_INFO_NULL, &requests[BARRIER]);
  MPI_Bcast_init(&value, 1, MPI_INT, root, comm, MPI_INFO_NULL, &requests[BCAST]);
  MPI_Reduce_init(&own, &sum, 1, MPI_INT, MPI_SUM, root, comm, MPI_INFO_NULL, &requests[REDUCE]);
  MPI_Allreduce_init(&own, &total, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[ALLREDUCE]);
  MPI_Gather_init(&own, 1, MPI_INT, all, 1, MPI_INT, root, comm, MPI_INFO_NULL, &requests[GATHER]);
  MPI_Type_contiguous(1, MPI_INT, &pair); /* freed at once: the request keeps it */
  MPI_Type_commit(&pair);
  MPI_Allgather_init(&own, 1, pair, everyone, 1, pair, comm, MPI_INFO_NULL, &requests[ALLGATHER]);
  MPI_Type_free(&pair);
  MPI_Allreduce_init(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, comm, MPI_INFO_NULL, &requests[IN_PLACE]);
  MPI_Alltoall_init(out, 1, MPI_INT, in, 1, MPI_INT, comm, MPI_INFO_NULL, &requests[ALLTOALL]);
  MPI_Scatterv_init(out, counts, places, MPI_INT, &part, 1, MPI_INT, root, comm, MPI_INFO_NULL, &requests[SCATTERV]);
}

static void fill(int me, int size, int root, int turn) {
  value = me == root ? 7 + turn : -1;
  own = me + 100 * turn;
  most = me * (turn + 1);
  sum = total = part = -1;
  for (int i = 0; i < size; i++) {
    all[i] = everyone[i] = in[i] = -1;
    out[i] = 1000 * turn + 10 * me + i;
    counts[i] = 1;
    places[i] = i;
  }
}

static void check(int me, int size, int root, int turn) {
  const int added = size * (size - 1) / 2 + size * 100 * turn;
  CHECK(value == 7 + turn && total == added && most == (size - 1) * (turn + 1));
  CHECK(me != root || sum == added);
  CHECK(part == 1000 * turn + 10 * root + me);
  for (int i = 0; i < size; i++) {
    CHECK(everyone[i] == i + 100 * turn && in[i] == 1000 * turn + 10 * i + me);
    CHECK(me != root || all[i] == i + 100 * turn);
  }
}

static void turns(MPI_Comm comm, MPI_Comm* freed) {
  MPI_Request requests[COUNT];
  int me, size, flag = 0;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &size);
  const int root = size - 1;
  fill(me, size, root, 0);
  make(comm, root, requests);
  if (freed) MPI_Comm_free(freed);                   /* the requests keep it */
  MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE); /* inactive: nothing to wait for */
  MPI_Test(&requests[ALLREDUCE], &flag, MPI_STATUS_IGNORE);
  CHECK(flag);
  for (int turn = 0; turn < TURNS; turn++) {
    fill(me, size, root, turn);
    /* The same order on all ranks, by one call or by many. */
    if (me % 2)
      MPI_Startall(COUNT, requests);
    else
      for (int i = 0; i < COUNT; i++) MPI_Start(&requests[i]);
    for (flag = 0; turn == 1 && !flag;) MPI_Testall(COUNT, requests, &flag, MPI_STATUSES_IGNORE);
    for (int i = 0, index; turn == 2 && i < COUNT; i++) MPI_Waitany(COUNT, requests, &index, MPI_STATUS_IGNORE);
    MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE);
    check(me, size, root, turn);
    for (int i = 0; i < COUNT; i++) CHECK(requests[i] != MPI_REQUEST_NULL);
  }
  for (int i = 0; i < COUNT; i++) {
    MPI_Request_free(&requests[i]);
    CHECK(requests[i] == MPI_REQUEST_NULL);
  }
}

/* A request that is freed while it is active still completes. */
static void freed_while_active(void) {
  MPI_Request request, other;
  int mine = rank + 1, result = 0, again = 0;
  MPI_Allreduce_init(&mine, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  MPI_Request_free(&request);
  MPI_Iallreduce(&mine, &again, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &other);
  MPI_Wait(&other, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(again == ranks * (ranks + 1) / 2);
  for (int flag, i = 0; i < 1000 && result != again; i++) /* no call reports its completion */
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  CHECK(result == again);
}

int main(int argc, char** argv) {
  MPI_Comm half, copy;
  begin(&argc, &argv);
  turns(MPI_COMM_WORLD, NULL);
  freed_while_active();
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  turns(half, NULL);
  /* More communicators than the tables have rows, each kept by its requests for a while. */
  for (int i = 0; i < 40; i++) {
    MPI_Comm_dup(half, &copy);
    turns(copy, &copy);
  }
  MPI_Comm_free(&half);
  return end();
}
