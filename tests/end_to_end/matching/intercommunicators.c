// SPDX-License-Identifier: Apache-2.0
/* Between two groups: communicators created from intercommunicators, and collectives on them. */
#include <stddef.h>

#include "rules.h"

/* Two of the same members; each is identified by its tag alone. */
static void made_by_tags(void) {
  MPI_Comm between[2] = {between_halves(3), between_halves(4)};
  for (int i = 0; i < 2; i++) show("between", between[i], 10 + i);
  free_all(2, between);
}

/* Each neighbouring pair of ranks has one. */
static void made_in_a_chain(void) {
  for (int first = 0; first + 1 < ranks; first++) {
    if (rank != first && rank != first + 1) continue;
    MPI_Comm between;
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, rank == first ? first + 1 : first, 5, &between);
    show("between", between, first);
    MPI_Comm_free(&between);
  }
}

static void copied_in_other_orders(void) {
  MPI_Comm parents[2] = {between_halves(1), between_halves(2)}, copies[2], again;
  MPI_Request requests[2];
  for (int i = 0; i < 2; i++) {
    const int which = otherwise() ^ i;
    MPI_Comm_idup(parents[which], &copies[which], &requests[which]);
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Comm_dup(copies[1], &again);
  for (int i = 0; i < 2; i++) show("copy", copies[i], 20 + i);
  show("dup", again, 22);
  MPI_Comm_free(&again);
  free_all(2, copies);
  free_all(2, parents);
}

static void split(void) {
  MPI_Comm parent = between_halves(1), parts[3];
  int me;
  MPI_Comm_rank(parent, &me);
  MPI_Comm_split(parent, me % 2, -rank, &parts[0]);
  MPI_Comm_split(parent, in_upper_half() && me > 0 ? MPI_UNDEFINED : 0, rank, &parts[1]);
  MPI_Comm_split(parent, in_upper_half() ? 1 : 2, rank, &parts[2]);
  for (int i = 0; i < 3; i++) show("part", parts[i], 30 + i);
  free_all(3, parts);
  MPI_Comm_free(&parent);
}

static void split_where_groups_alternate(void) {
  const int last = ranks - 1, other = last % 2 != otherwise() ? last : last - 1;
  MPI_Comm group, parent, part;
  int me;
  MPI_Comm_split(MPI_COMM_WORLD, otherwise(), -rank, &group);
  MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, other, 5, &parent);
  MPI_Comm_rank(parent, &me);
  MPI_Comm_split(parent, me == 0, rank, &part);
  show("part", part, 34);
  free_all(3, (MPI_Comm[]){part, parent, group});
}

/* The ranks that share memory differ between MPI implementations: the result shows only that no rank is in a part if
 * it passes MPI_UNDEFINED. */
static void split_by_type(void) {
  MPI_Comm parent = between_halves(1), part;
  MPI_Comm_split_type(parent, MPI_UNDEFINED, 0, MPI_INFO_NULL, &part);
  say("in none: %d", part == MPI_COMM_NULL);
  MPI_Comm_split_type(parent, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &part);
  free_all(1, &part);
  show("parent", parent, 40);
  MPI_Comm_free(&parent);
}

static void created_and_merged(void) {
  MPI_Comm parents[2] = {between_halves(1), between_halves(2)}, made[3];
  MPI_Group own, some;
  const int none[1] = {0};
  for (int i = 0; i < 2; i++) MPI_Intercomm_merge(parents[i], i ? in_upper_half() : !in_upper_half(), &made[i]);
  for (int i = 0; i < 2; i++) show("merged", made[i], 50 + i);
  MPI_Comm_group(parents[0], &own);
  MPI_Group_incl(own, 1, none, &some);
  MPI_Comm_create(parents[0], some, &made[2]);
  show("first of each", made[2], 52);
  MPI_Group_free(&some);
  MPI_Group_free(&own);
  free_all(3, made);
  free_all(2, parents);
}

enum form { BLOCKING, NON_BLOCKING, PERSISTENT, FORMS };
static const char* const form_names[] = {"blocking", "non-blocking", "persistent"};

#define CALL(Name, name, ...)                                   \
  do {                                                          \
    MPI_Request request_;                                       \
    if (form == BLOCKING) {                                     \
      MPI_##Name(__VA_ARGS__);                                  \
      break;                                                    \
    }                                                           \
    if (form == NON_BLOCKING)                                   \
      MPI_I##name(__VA_ARGS__, &request_);                      \
    else {                                                      \
      MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request_); \
      MPI_Start(&request_);                                     \
    }                                                           \
    MPI_Wait(&request_, MPI_STATUS_IGNORE);                     \
    if (form == PERSISTENT) MPI_Request_free(&request_);        \
  } while (0)

enum { MOST = 64 };

static void collectives(void) {
  MPI_Comm comm = between_halves(1);
  int me, others, ones[MOST], places[MOST], none[MOST] = {0};
  MPI_Comm_rank(comm, &me);
  MPI_Comm_remote_size(comm, &others);
  for (int i = 0; i < MOST; i++) ones[i] = 1, places[i] = i;
  const int root = in_upper_half() ? (me == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
  for (enum form form = BLOCKING; form < FORMS; form++) {
    int own[MOST], seen[MOST], sum = -1;
    for (int i = 0; i < MOST; i++) own[i] = 100 * rank + i, seen[i] = -1;
    CALL(Barrier, barrier, comm);
    CALL(Allreduce, allreduce, own, &sum, 1, MPI_INT, MPI_SUM, comm);
    say("%s: allreduce %d", form_names[form], sum);
    CALL(Allreduce, allreduce, own, &sum, 0, MPI_INT, MPI_SUM, comm);
    CALL(Reduce, reduce, own, seen, 1, MPI_INT, MPI_MAX, root, comm);
    say("reduce %d", seen[0]);
    int word = root == MPI_ROOT ? 77 : root == MPI_PROC_NULL ? -2 : -1;
    CALL(Bcast, bcast, &word, 1, MPI_INT, root, comm);
    CALL(Bcast, bcast, &word, 0, MPI_INT, root, comm);
    say("broadcast %d", word);
    CALL(Allgather, allgather, own, 1, MPI_INT, seen, 1, MPI_INT, comm);
    say("allgather %d to %d", seen[0], seen[others - 1]);
    CALL(Allgatherv, allgatherv, own, 1, MPI_INT, seen, ones, places, MPI_INT, comm);
    say("allgatherv %d to %d", seen[0], seen[others - 1]);
    CALL(Alltoall, alltoall, own, 1, MPI_INT, seen, 1, MPI_INT, comm);
    say("alltoall %d to %d", seen[0], seen[others - 1]);
    CALL(Alltoallv, alltoallv, own, none, places, MPI_INT, seen, none, places, MPI_INT, comm);
    say("alltoallv of nothing %d to %d", seen[0], seen[others - 1]);
    CALL(Gather, gather, own, 1, MPI_INT, seen, 1, MPI_INT, root, comm);
    say("gather %d to %d", seen[0], seen[others - 1]);
    CALL(Scatter, scatter, own, 1, MPI_INT, seen, 1, MPI_INT, root, comm);
    say("scatter %d", seen[0]);
    CALL(Reduce_scatter_block, reduce_scatter_block, own, seen, 0, MPI_INT, MPI_SUM, comm);
    say("reduce_scatter_block of nothing %d", seen[0]);
  }
  MPI_Comm_free(&comm);
}

static void nonblocking_in_other_orders(void) {
  MPI_Comm comms[2] = {between_halves(1), between_halves(2)};
  MPI_Request requests[2];
  int own[2] = {rank, 100 + rank}, sums[2];
  for (int i = 0; i < 2; i++) {
    const int which = otherwise() ^ i;
    MPI_Iallreduce(&own[which], &sums[which], 1, MPI_INT, MPI_SUM, comms[which], &requests[which]);
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  say("%d and %d", sums[0], sums[1]);
  free_all(2, comms);
}

const struct rule intercommunicators[] = {{"between-made-by-tags", made_by_tags},
                                          {"between-made-in-a-chain", made_in_a_chain},
                                          {"between-copied-in-other-orders", copied_in_other_orders},
                                          {"between-split", split},
                                          {"between-split-where-groups-alternate", split_where_groups_alternate},
                                          {"between-split-by-type", split_by_type},
                                          {"between-created-and-merged", created_and_merged},
                                          {"between-collectives", collectives},
                                          {"between-nonblocking-in-other-orders", nonblocking_in_other_orders},
                                          {0}};
