// SPDX-License-Identifier: Apache-2.0
/* Messages: between two ranks on a communicator none overtakes another one that matches the same receive. */
#include <stdlib.h>
#include <string.h>

#include "rules.h"

static int right(void) {
  return (rank + 1) % ranks;
}
static int left(void) {
  return (rank + ranks - 1) % ranks;
}

/* A long message before short ones, all received by wildcards. */
static void none_overtakes(void) {
  enum { LONG = 50000, COUNT = 5 };
  int* buffer = malloc(2 * LONG * sizeof(int));
  MPI_Request requests[COUNT];
  for (int i = 0; i < LONG; i++) buffer[i] = rank;
  for (int i = 0; i < COUNT; i++)
    MPI_Isend(buffer, i % 2 ? 1 : LONG - i, MPI_INT, right(), i, MPI_COMM_WORLD, &requests[i]);
  for (int i = 0; i < COUNT; i++) {
    MPI_Status status;
    int count;
    MPI_Recv(buffer + LONG, LONG, MPI_INT, i % 2 ? left() : MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    say("tag %d, %d elements, value %d", status.MPI_TAG, count, buffer[LONG + count - 1]);
  }
  MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE);
  free(buffer);
}

/* Receives match in the order in which they were posted, including wildcards. */
static void receives_in_their_order(void) {
  const int tags[] = {1, 2, 1, 3, 2};
  const int wanted[] = {MPI_ANY_TAG, 1, 2, 2, MPI_ANY_TAG};
  int seen[5], values[5];
  MPI_Request requests[10];
  MPI_Status statuses[10];
  for (int i = 0; i < 5; i++)
    MPI_Irecv(&seen[i], 1, MPI_INT, i % 2 ? left() : MPI_ANY_SOURCE, wanted[i], MPI_COMM_WORLD, &requests[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 5; i++) {
    values[i] = 10 * rank + i;
    MPI_Isend(&values[i], 1, MPI_INT, right(), tags[i], MPI_COMM_WORLD, &requests[5 + i]);
  }
  MPI_Waitall(10, requests, statuses);
  for (int i = 0; i < 5; i++) say("%d with tag %d", seen[i], statuses[i].MPI_TAG);
}

/* The same tag on two communicators of the same members, sent in a different order than received. */
static void communicators_apart(void) {
  MPI_Comm comms[3] = {MPI_COMM_WORLD, copy_of_world(), copy_of_world()};
  int seen[3], values[3];
  MPI_Request requests[6];
  for (int i = 0; i < 3; i++) {
    const int which = otherwise() ? 2 - i : i;
    values[which] = 100 * which + rank;
    MPI_Isend(&values[which], 1, MPI_INT, right(), 4, comms[which], &requests[i]);
  }
  for (int i = 0; i < 3; i++) MPI_Irecv(&seen[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[i], &requests[3 + i]);
  MPI_Waitall(6, requests, MPI_STATUSES_IGNORE);
  say("%d, %d, %d", seen[0], seen[1], seen[2]);
  free_all(2, comms + 1);
}

/* A matched message belongs to its receiver alone; a probed one remains the first. */
static void probes(void) {
  int values[3], seen[3], count;
  MPI_Request requests[3], late;
  MPI_Message message;
  MPI_Status status;
  for (int i = 0; i < 3; i++) {
    values[i] = 10 * rank + i;
    MPI_Isend(values, i + 1, MPI_INT, right(), i, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Probe(left(), MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  say("tag %d, %d elements", status.MPI_TAG, count);
  MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
  say("tag %d matched", status.MPI_TAG);
  MPI_Recv(seen, 3, MPI_INT, left(), MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  say("tag %d received", status.MPI_TAG);
  for (int flag = 0; !flag;) MPI_Iprobe(left(), 2, MPI_COMM_WORLD, &flag, &status);
  MPI_Imrecv(seen, 1, MPI_INT, &message, &late);
  MPI_Wait(&late, &status);
  say("tag %d, value %d, none left %d", status.MPI_TAG, seen[0], message == MPI_MESSAGE_NULL);
  for (int flag = 0; !flag;) MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status);
  MPI_Mrecv(seen, 3, MPI_INT, &message, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  say("tag %d, %d elements, value %d", status.MPI_TAG, count, seen[2]);
  MPI_Mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &message, &status);
  say("nobody: %d", message == MPI_MESSAGE_NO_PROC && status.MPI_SOURCE == MPI_PROC_NULL);
  MPI_Mrecv(seen, 1, MPI_INT, &message, &status);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}

/* A cancelled receive takes nothing from the later ones. */
static void cancelled(void) {
  int seen[2] = {-1, -1}, flag;
  MPI_Request requests[2];
  MPI_Status status;
  for (int i = 0; i < 2; i++) MPI_Irecv(&seen[i], 1, MPI_INT, left(), 6, MPI_COMM_WORLD, &requests[i]);
  MPI_Cancel(&requests[0]);
  MPI_Wait(&requests[0], &status);
  MPI_Test_cancelled(&status, &flag);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(&rank, 1, MPI_INT, right(), 6, MPI_COMM_WORLD);
  MPI_Wait(&requests[1], &status);
  say("cancelled %d, received %d behind %d", flag, seen[1], seen[0]);
  MPI_Test_cancelled(&status, &flag);
  say("the other one cancelled: %d", flag);
  MPI_Recv_init(&seen[0], 1, MPI_INT, left(), 6, MPI_COMM_WORLD, &requests[0]);
  MPI_Start(&requests[0]);
  MPI_Cancel(&requests[0]);
  MPI_Wait(&requests[0], &status);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Start(&requests[0]);
  MPI_Send(&rank, 1, MPI_INT, right(), 6, MPI_COMM_WORLD);
  MPI_Wait(&requests[0], &status);
  say("started again: %d", seen[0]);
  MPI_Request_free(&requests[0]);
}

static void to_oneself_and_nobody(void) {
  int seen = -1, own = 100 + rank, count;
  MPI_Status status;
  MPI_Request request;
  MPI_Sendrecv(&own, 1, MPI_INT, rank, 1, &seen, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &status);
  say("self %d", seen);
  MPI_Sendrecv_replace(&own, 1, MPI_INT, right(), 2, left(), 2, MPI_COMM_WORLD, &status);
  say("replaced %d", own);
  MPI_Sendrecv(&own, 1, MPI_INT, MPI_PROC_NULL, 1, &seen, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  say("nobody: still %d, %d elements, from nobody %d, any tag %d", seen, count, status.MPI_SOURCE == MPI_PROC_NULL,
      status.MPI_TAG == MPI_ANY_TAG);
  /* One half of it alone. */
  MPI_Sendrecv(&own, 1, MPI_INT, rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL, 3, &seen, 1, MPI_INT,
               rank > 0 ? rank - 1 : MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
  say("from below %d, from nobody %d", seen, status.MPI_SOURCE == MPI_PROC_NULL);
  MPI_Irecv(&seen, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, &status);
  MPI_Probe(MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  say("probed nobody: %d", status.MPI_SOURCE == MPI_PROC_NULL);
  MPI_Isend(&own, 1, MPI_INT, rank, 9, MPI_COMM_WORLD, &request);
  MPI_Recv(&seen, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &status);
  MPI_Wait(&request, &status);
  say("sent to oneself %d", seen);
}

/* Persistent messages are sent and received in the order of their starts. */
static void persistent_starts(void) {
  int values[3], seen[3];
  MPI_Request requests[6], turned[6];
  for (int i = 0; i < 3; i++) {
    MPI_Send_init(&values[i], 1, MPI_INT, right(), 8, MPI_COMM_WORLD, &requests[i]);
    MPI_Recv_init(&seen[i], 1, MPI_INT, i == 1 ? MPI_ANY_SOURCE : left(), 8, MPI_COMM_WORLD, &requests[3 + i]);
  }
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 3; i++) values[i] = 100 * round + 10 * rank + i;
    for (int i = 0; i < 3; i++) {
      turned[i] = requests[(i + rank + round) % 3];
      turned[3 + i] = requests[3 + (otherwise() ? 2 - i : i)];
    }
    MPI_Startall(6, turned);
    MPI_Waitall(6, turned, MPI_STATUSES_IGNORE);
    say("%d, %d, %d", seen[0], seen[1], seen[2]);
  }
  for (int i = 0; i < 6; i++) MPI_Request_free(&requests[i]);
}

/* Every mode of sending; messages whose requests are freed still arrive. */
static void modes(void) {
  int values[6], seen[6], size;
  char* buffer;
  MPI_Request requests[6], freed;
  for (int i = 0; i < 6; i++) {
    values[i] = 10 * rank + i;
    MPI_Irecv(&seen[i], 1, MPI_INT, left(), i, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Pack_size(1, MPI_INT, MPI_COMM_WORLD, &size);
  size += MPI_BSEND_OVERHEAD;
  MPI_Buffer_attach(malloc((size_t)size), size);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Isend(&values[5], 1, MPI_INT, right(), 5, MPI_COMM_WORLD, &freed);
  MPI_Request_free(&freed);
  MPI_Ssend(&values[4], 1, MPI_INT, right(), 4, MPI_COMM_WORLD);
  MPI_Rsend(&values[3], 1, MPI_INT, right(), 3, MPI_COMM_WORLD);
  MPI_Bsend(&values[2], 1, MPI_INT, right(), 2, MPI_COMM_WORLD);
  MPI_Send(&values[1], 1, MPI_INT, right(), 1, MPI_COMM_WORLD);
  MPI_Issend(&values[0], 1, MPI_INT, right(), 0, MPI_COMM_WORLD, &freed);
  MPI_Wait(&freed, MPI_STATUS_IGNORE);
  MPI_Waitall(6, requests, MPI_STATUSES_IGNORE);
  MPI_Buffer_detach(&buffer, &size);
  free(buffer);
  for (int i = 0; i < 6; i++) say("%d", seen[i]);
}

/* A non-blocking exchange, also one with nobody on one side, keeps its place among other messages. */
#if MPI_VERSION >= 4
static void exchanges(void) {
  for (int replaces = 0; replaces < 2; replaces++) {
    int first = 10 * rank + 1, second = 10 * rank + 2, seen[2] = {-1, -1}, both[2] = {10 * rank + 3, -1};
    MPI_Request sent, taken, exchange;
    /* Sends after a message. */
    MPI_Isend(&first, 1, MPI_INT, right(), 7, MPI_COMM_WORLD, &sent);
    if (replaces)
      MPI_Isendrecv_replace(&second, 1, MPI_INT, right(), 7, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &exchange);
    else
      MPI_Isendrecv(&second, 1, MPI_INT, right(), 7, &seen[0], 1, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &exchange);
    MPI_Recv(&seen[0], 1, MPI_INT, left(), 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&seen[1], 1, MPI_INT, left(), 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    MPI_Wait(&exchange, MPI_STATUS_IGNORE);
    say("sent %d, then %d", seen[0], seen[1]);
    /* Receives before another receive. */
    if (replaces)
      MPI_Isendrecv_replace(&seen[0], 1, MPI_INT, MPI_PROC_NULL, 8, left(), 8, MPI_COMM_WORLD, &exchange);
    else
      MPI_Isendrecv(&first, 1, MPI_INT, MPI_PROC_NULL, 8, &seen[0], 1, MPI_INT, left(), 8, MPI_COMM_WORLD, &exchange);
    MPI_Irecv(&seen[1], 1, MPI_INT, left(), 8, MPI_COMM_WORLD, &taken);
    MPI_Send(&first, 1, MPI_INT, right(), 8, MPI_COMM_WORLD);
    MPI_Send(&second, 1, MPI_INT, right(), 8, MPI_COMM_WORLD);
    MPI_Wait(&taken, MPI_STATUS_IGNORE);
    MPI_Wait(&exchange, MPI_STATUS_IGNORE);
    say("received %d, then %d", seen[0], seen[1]);
    /* Both ways, with ranks that use another function. */
    if (otherwise())
      MPI_Sendrecv(&both[0], 1, MPI_INT, right(), 9, &both[1], 1, MPI_INT, left(), 9, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
    else if (replaces)
      MPI_Isendrecv_replace(&both[0], 1, MPI_INT, right(), 9, left(), 9, MPI_COMM_WORLD, &exchange);
    else
      MPI_Isendrecv(&both[0], 1, MPI_INT, right(), 9, &both[1], 1, MPI_INT, left(), 9, MPI_COMM_WORLD, &exchange);
    if (!otherwise()) MPI_Wait(&exchange, MPI_STATUS_IGNORE);
    say("exchanged %d", both[replaces && !otherwise() ? 0 : 1]);
    MPI_Isendrecv_replace(&both[0], 1, MPI_INT, MPI_PROC_NULL, 9, MPI_PROC_NULL, 9, MPI_COMM_WORLD, &exchange);
    MPI_Wait(&exchange, MPI_STATUS_IGNORE);
  }
}
#else
static void exchanges(void) {
  say("none before MPI 4");
}
#endif

const struct rule messages[] = {{"none-overtakes", none_overtakes},
                                {"receives-in-their-order", receives_in_their_order},
                                {"communicators-apart", communicators_apart},
                                {"probes", probes},
                                {"cancelled", cancelled},
                                {"to-oneself-and-nobody", to_oneself_and_nobody},
                                {"persistent-starts", persistent_starts},
                                {"exchanges", exchanges},
                                {"modes", modes},
                                {0}};
