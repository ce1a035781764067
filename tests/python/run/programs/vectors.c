// SPDX-License-Identifier: Apache-2.0
/* Collectives whose blocks differ in size, blocking, non-blocking and persistent, in place, with empty blocks and
 * with types and displacements that leave gaps. Argument 1 seeds the counts. */
#include "check.h"

#define MOST 16   /* ranks */
#define SIZE 4096 /* elements of a buffer */

static unsigned state;
static int draw(int below) {
  state = state * 1664525u + 1013904223u;
  return (int)(state >> 8) % below;
}

/* count[i][j]: elements that i has for j. All ranks draw the same. */
static int count[MOST][MOST];
static int send[SIZE], receive[SIZE], send_counts[MOST], send_places[MOST], counts[MOST], places[MOST];
static MPI_Datatype types[MOST];

static int element(int from, int to, int i) {
  return from * 1000000 + to * 10000 + i;
}

/* Blocks in a shuffled order, with gaps between them. */
static void lay_out(const int* of, int n, int* at) {
  int order[MOST], next = draw(5);
  for (int i = 0; i < n; i++) order[i] = i;
  for (int i = n - 1; i > 0; i--) {
    const int other = draw(i + 1), kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
  for (int i = 0; i < n; i++) {
    at[order[i]] = next;
    next += of[order[i]] + draw(4);
  }
}

static void clear(void) {
  for (int i = 0; i < SIZE; i++) receive[i] = send[i] = -1;
}

/* Checks every received block, and that the rest is unchanged. */
static void check_blocks(int n, int me, int from_all) {
  int touched = 0, written = 0;
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < counts[i]; k++) CHECK(receive[places[i] + k] == element(i, from_all ? -1 : me, k));
    touched += counts[i];
  }
  for (int i = 0; i < SIZE; i++) written += receive[i] != -1;
  CHECK(written == touched);
}

static void complete(int form, MPI_Request* request) {
  if (form == 2) {
    MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    MPI_Request_free(request);
  } else if (form == 1) {
    MPI_Wait(request, MPI_STATUS_IGNORE);
  }
}

/* MPI_<name> in one of its three forms. */
#define CALL(form, name, ...)                                               \
  do {                                                                      \
    MPI_Request request;                                                    \
    if (form == 0) MPI_##name(__VA_ARGS__);                                 \
    if (form == 1) MPI_I##name(__VA_ARGS__, &request);                      \
    if (form == 2) MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request); \
    complete(form, &request);                                               \
  } while (0)
#define MPI_IGatherv MPI_Igatherv
#define MPI_IScatterv MPI_Iscatterv
#define MPI_IAllgatherv MPI_Iallgatherv
#define MPI_IAlltoallv MPI_Ialltoallv
#define MPI_IAlltoallw MPI_Ialltoallw
#define MPI_IReduce_scatter MPI_Ireduce_scatter

static void round_of(MPI_Comm comm, int form, int in_place, int largest) {
  int me, n;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  const int root = draw(n);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) count[i][j] = draw(3) ? draw(largest + 1) : 0;

  clear(); /* gatherv: i gives count[i][0] to the root */
  for (int i = 0; i < n; i++) counts[i] = count[i][0];
  lay_out(counts, n, places);
  for (int k = 0; k < counts[me]; k++) (in_place && me == root ? receive + places[me] : send)[k] = element(me, -1, k);
  CALL(form, Gatherv, in_place && me == root ? MPI_IN_PLACE : send, counts[me], MPI_INT, receive, counts, places,
       MPI_INT, root, comm);
  if (me == root) check_blocks(n, me, 1);

  clear(); /* scatterv */
  for (int i = 0; me == root && i < n; i++)
    for (int k = 0; k < counts[i]; k++) send[places[i] + k] = element(root, i, k);
  CALL(form, Scatterv, send, counts, places, MPI_INT, in_place && me == root ? MPI_IN_PLACE : receive, counts[me],
       MPI_INT, root, comm);
  for (int k = 0; !(in_place && me == root) && k < counts[me]; k++) CHECK(receive[k] == element(root, me, k));
  CHECK(receive[counts[me]] == -1);

  clear(); /* allgatherv */
  for (int k = 0; k < counts[me]; k++) (in_place ? receive + places[me] : send)[k] = element(me, -1, k);
  CALL(form, Allgatherv, in_place ? MPI_IN_PLACE : send, counts[me], MPI_INT, receive, counts, places, MPI_INT, comm);
  check_blocks(n, me, 1);

  for (int wide = 0; wide < 2; wide++) { /* alltoallv and alltoallw */
    clear();
    for (int i = 0; i < n; i++) {
      if (in_place) count[i][me] = count[me][i] = i < me ? count[i][me] : count[me][i]; /* known to both */
      send_counts[i] = count[me][i];
      counts[i] = count[i][me];
      types[i] = MPI_INT;
    }
    lay_out(counts, n, places);
    lay_out(send_counts, n, send_places);
    for (int i = 0; i < n; i++)
      for (int k = 0; k < send_counts[i]; k++)
        (in_place ? receive + places[i] : send + send_places[i])[k] = element(me, i, k);
    void* from = in_place ? MPI_IN_PLACE : (void*)send;
    for (int i = 0; wide && i < n; i++) {
      send_places[i] *= (int)sizeof(int);
      places[i] *= (int)sizeof(int);
    }
    if (wide)
      CALL(form, Alltoallw, from, send_counts, send_places, types, receive, counts, places, types, comm);
    else
      CALL(form, Alltoallv, from, send_counts, send_places, MPI_INT, receive, counts, places, MPI_INT, comm);
    for (int i = 0; wide && i < n; i++) places[i] /= (int)sizeof(int);
    check_blocks(n, me, 0);
  }

  clear(); /* reduce_scatter: i gives i + k in element k */
  int sum = 0, before = 0;
  for (int i = 0; i < n; i++) {
    counts[i] = count[0][i];
    before += i < me ? counts[i] : 0;
    sum += counts[i];
  }
  MPI_Bcast(counts, n, MPI_INT, 0, comm); /* in place, the ranks have changed their own rows */
  for (int i = sum = before = 0; i < n; i++) {
    before += i < me ? counts[i] : 0;
    sum += counts[i];
  }
  for (int k = 0; k < sum; k++) (in_place ? receive : send)[k] = me + k;
  CALL(form, Reduce_scatter, in_place ? MPI_IN_PLACE : send, receive, counts, MPI_INT, MPI_SUM, comm);
  for (int k = 0; k < counts[me]; k++) CHECK(receive[k] == n * (before + k) + n * (n - 1) / 2);
}

int main(int argc, char** argv) {
  MPI_Comm half;
  begin(&argc, &argv);
  state = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  for (int form = 0; form < 3; form++)
    for (int in_place = 0; in_place < 2; in_place++) {
      round_of(MPI_COMM_WORLD, form, in_place, 3);
      round_of(MPI_COMM_WORLD, form, in_place, 200);
    }
  MPI_Comm_split(MPI_COMM_WORLD, rank < ranks / 2, -rank, &half);
  for (int form = 0; form < 3; form++) round_of(half, form, 0, 20);
  MPI_Comm_free(&half);
  return end();
}
