// SPDX-License-Identifier: Apache-2.0
/* Persistent collectives are matched by the order of their creation on the communicator, not by that of their
 * starts. */
#include <stddef.h>

#include "rules.h"

enum { ROUNDS = 4, KINDS = 6 };

static void started_in_other_orders_on(MPI_Comm comm, MPI_Op op, const char* name) {
  int own[2] = {0}, seen[2];
  MPI_Request requests[2];
  for (int i = 0; i < 2; i++) MPI_Allreduce_init(&own[i], &seen[i], 1, MPI_INT, op, comm, MPI_INFO_NULL, &requests[i]);
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < 2; i++) own[i] = 1000 * i + 10 * round + rank;
    for (int i = 0; i < 2; i++) MPI_Start(&requests[(otherwise() + round) % 2 ^ i]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    say("%s, round %d: %d and %d", name, round, seen[0], seen[1]);
  }
  for (int i = 0; i < 2; i++) MPI_Request_free(&requests[i]);
}

static void sum(void* in, void* out, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; i++) ((int*)out)[i] += ((int*)in)[i];
}

static void started_in_other_orders(void) {
  MPI_Op own;
  MPI_Op_create(sum, 1, &own);
  started_in_other_orders_on(MPI_COMM_WORLD, MPI_SUM, "sum");
  started_in_other_orders_on(MPI_COMM_WORLD, own, "own operation");
  MPI_Op_free(&own);
}

/* Of every kind, all started by one call, whose array begins at a different element on each rank. */
static void startall(void) {
  enum { MOST = 64 };
  int own[KINDS][MOST], seen[KINDS][MOST];
  MPI_Request requests[KINDS], turned[KINDS];
  MPI_Comm comm = copy_of_world();
  MPI_Allreduce_init(own[0], seen[0], 1, MPI_INT, MPI_MAX, comm, MPI_INFO_NULL, &requests[0]);
  MPI_Bcast_init(own[1], 1, MPI_INT, ranks - 1, comm, MPI_INFO_NULL, &requests[1]);
  MPI_Barrier_init(comm, MPI_INFO_NULL, &requests[2]);
  MPI_Allgather_init(own[3], 1, MPI_INT, seen[3], 1, MPI_INT, comm, MPI_INFO_NULL, &requests[3]);
  MPI_Bcast_init(own[4], 1, MPI_INT, 0, comm, MPI_INFO_NULL, &requests[4]);
  MPI_Alltoall_init(own[5], 1, MPI_INT, seen[5], 1, MPI_INT, comm, MPI_INFO_NULL, &requests[5]);
  for (int round = 0; round < ROUNDS; round++) {
    for (int kind = 0; kind < KINDS; kind++)
      for (int i = 0; i < MOST; i++) own[kind][i] = 10000 * kind + 1000 * round + 10 * rank + i, seen[kind][i] = -1;
    for (int i = 0; i < KINDS; i++) turned[i] = requests[(i + rank + round) % KINDS];
    MPI_Startall(KINDS, turned);
    MPI_Waitall(KINDS, turned, MPI_STATUSES_IGNORE);
    say("round %d: allreduce %d, broadcasts %d and %d, allgather %d, alltoall %d", round, seen[0][0], own[1][0],
        own[4][0], seen[3][ranks - 1], seen[5][ranks - 1]);
  }
  for (int i = 0; i < KINDS; i++) MPI_Request_free(&requests[(i + rank) % KINDS]);
  MPI_Comm_free(&comm);
}

/* Between starts in other orders there are non-blocking and blocking ones, whose order is the same on all ranks. */
static void beside_others(void) {
  int own[4] = {0}, seen[4];
  MPI_Request persistent[2], other;
  for (int i = 0; i < 2; i++)
    MPI_Allreduce_init(&own[i], &seen[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &persistent[i]);
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < 4; i++) own[i] = 1000 * i + 10 * round + rank;
    const int first = (otherwise() + round) % 2;
    if (first) MPI_Start(&persistent[0]);
    MPI_Iallreduce(&own[2], &seen[2], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &other);
    MPI_Start(&persistent[1]);
    MPI_Allreduce(&own[3], &seen[3], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (!first) MPI_Start(&persistent[0]);
    MPI_Wait(&persistent[first], MPI_STATUS_IGNORE);
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    MPI_Wait(&persistent[!first], MPI_STATUS_IGNORE);
    say("round %d: %d, %d, non-blocking %d, blocking %d", round, seen[0], seen[1], seen[2], seen[3]);
  }
  for (int i = 0; i < 2; i++) MPI_Request_free(&persistent[i]);
}

/* Some are never started, some not in each round; they are freed at different times. */
static void not_all_are_started(void) {
  int own[3], seen[3];
  MPI_Request requests[3];
  MPI_Comm comm = copy_of_world();
  for (int i = 0; i < 3; i++)
    MPI_Allreduce_init(&own[i], &seen[i], 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[i]);
  if (otherwise()) MPI_Request_free(&requests[0]);
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < 3; i++) own[i] = 1000 * i + 10 * round + rank, seen[i] = -1;
    const int first = 1 + otherwise(), last = 3 - first;
    if (first == 1 || round % 2 == 0) MPI_Start(&requests[first]);
    if (last == 1 || round % 2 == 0) MPI_Start(&requests[last]);
    MPI_Waitall(2, requests + 1, MPI_STATUSES_IGNORE);
    say("round %d: %d and %d", round, seen[1], seen[2]);
  }
  for (int i = otherwise(); i < 3; i++) MPI_Request_free(&requests[i]);
  show("comm", comm, 10);
  MPI_Comm_free(&comm);
}

/* One rank starts the next round of one before it starts the other. */
static void rounds_ahead(void) {
  int own[2], seen[2];
  MPI_Request requests[2];
  for (int i = 0; i < 2; i++) {
    own[i] = i ? 2000 : rank;
    MPI_Bcast_init(&own[i], 1, MPI_INT, i, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
  }
  for (int round = 0; round < ROUNDS; round++) {
    if (rank == 0) own[0] = 100 + round;
    MPI_Start(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    say("round %d: %d", round, own[0]);
  }
  for (int round = 0; round < ROUNDS; round++) {
    if (rank == 1) own[1] = 200 + round;
    seen[0] = own[0];
    if (otherwise()) MPI_Start(&requests[1]);
    MPI_Start(&requests[0]);
    if (!otherwise()) MPI_Start(&requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    say("round %d: %d, %d", round, own[0] == seen[0], own[1]);
  }
  for (int i = 0; i < 2; i++) MPI_Request_free(&requests[i]);
}

/* Without data there is nothing to wait for, but positions in the order are still taken. */
static void without_data(void) {
  int own[2] = {rank, 100 + rank}, seen[2] = {-1, -1};
  MPI_Request requests[3];
  for (int i = 0; i < 2; i++)
    MPI_Allreduce_init(&own[i], &seen[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2 * i]);
  MPI_Allreduce_init(own, seen, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  for (int i = 0; i < 3; i++) MPI_Start(&requests[otherwise() ? 2 - i : i]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  say("%d and %d", seen[0], seen[1]);
  for (int i = 0; i < 3; i++) MPI_Request_free(&requests[i]);
}

static void on_several_communicators(void) {
  MPI_Comm comms[2] = {copy_of_world(), half_of_world()};
  int own[4], seen[4];
  MPI_Request requests[4], turned[4];
  for (int i = 0; i < 4; i++)
    MPI_Allreduce_init(&own[i], &seen[i], 1, MPI_INT, MPI_SUM, comms[i % 2], MPI_INFO_NULL, &requests[i]);
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < 4; i++) own[i] = 1000 * i + 10 * round + rank;
    for (int i = 0; i < 4; i++) turned[i] = requests[(i * (rank % 2 ? 3 : 1) + rank + round) % 4];
    MPI_Startall(4, turned);
    MPI_Waitall(4, turned, MPI_STATUSES_IGNORE);
    say("round %d: %d, %d, %d, %d", round, seen[0], seen[1], seen[2], seen[3]);
  }
  for (int i = 0; i < 4; i++) MPI_Request_free(&requests[i]);
  free_all(2, comms);
}

const struct rule persistent[] = {{"persistent-started-in-other-orders", started_in_other_orders},
                                  {"persistent-startall", startall},
                                  {"persistent-beside-others", beside_others},
                                  {"persistent-not-all-started", not_all_are_started},
                                  {"persistent-rounds-ahead", rounds_ahead},
                                  {"persistent-without-data", without_data},
                                  {"persistent-on-several-communicators", on_several_communicators},
                                  {0}};
