// SPDX-License-Identifier: Apache-2.0
/* Neighbourhood collectives: edges in their order, repeated ones and self-edges; several in flight. */
#include <stddef.h>

#include "rules.h"

enum { MOST = 8 };

/* Each rank sends twice to the next one, once to itself and once to the previous one. */
static MPI_Comm graph(void) {
  const int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
  const int from[] = {last, last, rank, next}, to[] = {next, next, rank, last};
  MPI_Comm made;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 4, from, MPI_UNWEIGHTED, 4, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &made);
  return made;
}

static MPI_Comm torus(void) {
  const int sizes[] = {ranks, 1}, periods[] = {1, 1};
  MPI_Comm made;
  MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 0, &made);
  return made;
}

static void tell(const char* what, const int* seen) {
  say("%s: %d, %d, %d, %d", what, seen[0], seen[1], seen[2], seen[3]);
}

static void all_of_them(void) {
  MPI_Comm comms[2] = {graph(), torus()};
  const int counts[] = {1, 1, 1, 1}, places[] = {3, 2, 1, 0};
  const MPI_Aint bytes[] = {0, 4, 8, 12};
  const MPI_Datatype types[] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};
  for (int c = 0; c < 2; c++) {
    int own[MOST], seen[MOST];
    for (int i = 0; i < MOST; i++) own[i] = 100 * c + 10 * rank + i, seen[i] = -1;
    MPI_Neighbor_allgather(own, 1, MPI_INT, seen, 1, MPI_INT, comms[c]);
    tell("allgather", seen);
    MPI_Neighbor_allgatherv(own, 1, MPI_INT, seen, counts, places, MPI_INT, comms[c]);
    tell("allgatherv", seen);
    MPI_Neighbor_alltoall(own, 1, MPI_INT, seen, 1, MPI_INT, comms[c]);
    tell("alltoall", seen);
    MPI_Neighbor_alltoallv(own, counts, places, MPI_INT, seen, counts, places, MPI_INT, comms[c]);
    tell("alltoallv", seen);
    MPI_Neighbor_alltoallw(own, counts, bytes, types, seen, counts, bytes, types, comms[c]);
    tell("alltoallw", seen);
  }
  free_all(2, comms);
}

static void under_way_in_other_orders(void) {
  MPI_Comm comms[2] = {graph(), torus()};
  int own[2][MOST], seen[2][MOST];
  MPI_Request requests[2];
  for (int i = 0; i < 2; i++) {
    const int which = otherwise() ^ i;
    for (int k = 0; k < MOST; k++) own[which][k] = 100 * which + 10 * rank + k;
    MPI_Ineighbor_alltoall(own[which], 1, MPI_INT, seen[which], 1, MPI_INT, comms[which], &requests[which]);
  }
  for (int i = 0; i < 2; i++) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  tell("graph", seen[0]);
  tell("torus", seen[1]);
  free_all(2, comms);
}

static void persistent_in_other_orders(void) {
  MPI_Comm comm = graph();
  int own[2][MOST], seen[2][MOST];
  MPI_Request requests[2];
  MPI_Neighbor_alltoall_init(own[0], 1, MPI_INT, seen[0], 1, MPI_INT, comm, MPI_INFO_NULL, &requests[0]);
  MPI_Neighbor_allgather_init(own[1], 1, MPI_INT, seen[1], 1, MPI_INT, comm, MPI_INFO_NULL, &requests[1]);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 2; i++)
      for (int k = 0; k < MOST; k++) own[i][k] = 1000 * round + 100 * i + 10 * rank + k;
    for (int i = 0; i < 2; i++) MPI_Start(&requests[(otherwise() + round) % 2 ^ i]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    tell("alltoall", seen[0]);
    tell("allgather", seen[1]);
  }
  for (int i = 0; i < 2; i++) MPI_Request_free(&requests[i]);
  MPI_Comm_free(&comm);
}

const struct rule neighbours[] = {{"neighbours", all_of_them},
                                  {"neighbours-under-way-in-other-orders", under_way_in_other_orders},
                                  {"neighbours-persistent-in-other-orders", persistent_in_other_orders},
                                  {0}};
