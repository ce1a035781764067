// SPDX-License-Identifier: Apache-2.0
/* Collectives in flight on several communicators, completed in other orders. */
#include <stddef.h>

#include "rules.h"

enum { COMMS = 4 };

static void on_several_communicators(void) {
  MPI_Comm comms[COMMS];
  for (int i = 0; i < COMMS; i++) comms[i] = i % 2 ? half_of_world() : copy_of_world();
  for (int way = 0; way < 3; way++) {
    int own[COMMS], seen[COMMS], at[COMMS], done = 0, index, some;
    MPI_Request requests[COMMS];
    for (int i = 0; i < COMMS; i++) {
      const int which = (i * (rank % 2 ? 3 : 1) + rank) % COMMS;
      own[which] = 1000 * which + rank;
      MPI_Iallreduce(&own[which], &seen[which], 1, MPI_INT, MPI_SUM, comms[which], &requests[which]);
    }
    if (way == 0)
      for (int i = 0; i < COMMS; i++) MPI_Waitany(COMMS, requests, &index, MPI_STATUS_IGNORE);
    else if (way == 1)
      for (; done < COMMS; done += some) MPI_Testsome(COMMS, requests, &some, at, MPI_STATUSES_IGNORE);
    else
      for (int i = 0; i < COMMS; i++) MPI_Wait(&requests[(i + rank) % COMMS], MPI_STATUS_IGNORE);
    say("%d, %d, %d, %d", seen[0], seen[1], seen[2], seen[3]);
  }
  free_all(COMMS, comms);
}

/* On one communicator they are matched in their order, whichever is waited for first. */
static void on_one_communicator(void) {
  int own[COMMS], seen[COMMS];
  MPI_Request requests[COMMS], barrier;
  for (int i = 0; i < COMMS; i++) {
    own[i] = 1000 * i + rank;
    MPI_Iallreduce(&own[i], &seen[i], 1, MPI_INT, i % 2 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
  int blocking = 0;
  MPI_Allreduce(&rank, &blocking, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  for (int i = 0; i < COMMS; i++) MPI_Wait(&requests[otherwise() ? COMMS - 1 - i : i], MPI_STATUS_IGNORE);
  MPI_Wait(&barrier, MPI_STATUS_IGNORE);
  say("%d, %d, %d, %d, blocking %d", seen[0], seen[1], seen[2], seen[3], blocking);
}

/* A blocking collective on one communicator before or after the start of a non-blocking one on another. */
static void blocking_beside_nonblocking(void) {
  MPI_Comm other = copy_of_world();
  int own[2] = {rank, 100 + rank}, seen[2];
  MPI_Request request;
  if (otherwise()) MPI_Iallreduce(&own[0], &seen[0], 1, MPI_INT, MPI_SUM, other, &request);
  MPI_Allreduce(&own[1], &seen[1], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (!otherwise()) MPI_Iallreduce(&own[0], &seen[0], 1, MPI_INT, MPI_SUM, other, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  say("%d and %d", seen[0], seen[1]);
  MPI_Comm_free(&other);
}

static void communicator_freed_while_under_way(void) {
  MPI_Comm comms[2] = {copy_of_world(), copy_of_world()};
  int own[2] = {rank, 100 + rank}, seen[2], left;
  MPI_Request requests[4];
  for (int i = 0; i < 2; i++) {
    const int which = otherwise() ^ i;
    MPI_Iallreduce(&own[which], &seen[which], 1, MPI_INT, MPI_SUM, comms[which], &requests[which]);
  }
  MPI_Irecv(&left, 1, MPI_INT, (rank + ranks - 1) % ranks, 1, comms[0], &requests[2]);
  MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % ranks, 1, comms[0], &requests[3]);
  free_all(2, comms);
  comms[0] = copy_of_world();
  show("another one", comms[0], 10);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  say("%d and %d, from the left %d", seen[0], seen[1], left);
  MPI_Comm_free(&comms[0]);
}

static void alone(void) {
  int own[2] = {rank, 7}, seen[2] = {-1, -1};
  MPI_Request request;
  MPI_Comm self;
  MPI_Status status;
  MPI_Comm_dup(MPI_COMM_SELF, &self);
  MPI_Barrier(self);
  MPI_Bcast(own, 2, MPI_INT, 0, self);
  MPI_Iallreduce(own, seen, 2, MPI_INT, MPI_SUM, self, &request);
  MPI_Wait(&request, &status);
  say("allreduce %d, %d", seen[0], seen[1]);
  MPI_Exscan(own, seen, 2, MPI_INT, MPI_SUM, self);
  MPI_Alltoall(own, 1, MPI_INT, seen + 1, 1, MPI_INT, self);
  say("alltoall %d", seen[1]);
  MPI_Allgather_init(own, 2, MPI_INT, seen, 2, MPI_INT, self, MPI_INFO_NULL, &request);
  for (int round = 0; round < 2; round++) {
    own[1] = round;
    MPI_Start(&request);
    MPI_Wait(&request, &status);
    say("allgather %d, %d", seen[0], seen[1]);
  }
  MPI_Request_free(&request);
  MPI_Comm_free(&self);
}

/* Without data, but with an order to keep. */
static void without_data(void) {
  MPI_Comm comms[2] = {copy_of_world(), copy_of_world()};
  MPI_Request requests[4];
  int own = rank, seen = -1;
  for (int i = 0; i < 2; i++) {
    const int which = otherwise() ^ i;
    MPI_Ibcast(NULL, 0, MPI_INT, 0, comms[which], &requests[which]);
  }
  MPI_Iallreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, comms[0], &requests[2]);
  MPI_Iallreduce(&own, &seen, 1, MPI_INT, MPI_SUM, comms[0], &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  say("%d", seen);
  free_all(2, comms);
}

static void first_one(void* in, void* out, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; i++) ((int*)out)[i] = 10 * ((int*)in)[i] + ((int*)out)[i] % 10;
}

static void reductions_of_one_process(void) {
  int in[2] = {rank + 3, 2}, out[2] = {5, 4};
  MPI_Op own;
  MPI_Op_create(first_one, 0, &own);
  MPI_Reduce_local(in, out, 2, MPI_INT, MPI_SUM);
  say("sum %d, %d", out[0], out[1]);
  MPI_Reduce_local(in, out, 2, MPI_INT, own);
  say("own %d, %d", out[0], out[1]);
  MPI_Reduce_local(in, out, 0, MPI_INT, MPI_MAX);
  say("nothing %d, %d", out[0], out[1]);
  MPI_Op_free(&own);
}

const struct rule nonblocking[] = {{"nonblocking-on-several-communicators", on_several_communicators},
                                   {"nonblocking-on-one-communicator", on_one_communicator},
                                   {"blocking-beside-nonblocking", blocking_beside_nonblocking},
                                   {"communicator-freed-while-under-way", communicator_freed_while_under_way},
                                   {"alone", alone},
                                   {"nonblocking-without-data", without_data},
                                   {"reductions-of-one-process", reductions_of_one_process},
                                   {0}};
