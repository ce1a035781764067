// SPDX-License-Identifier: Apache-2.0
/* Communicators for a part of the ranks, created by every constructor of MPI. Each member prints the number of
 * members it counted, by a collective and by a message around. */
#include "check.h"

static void show(const char* name, MPI_Comm comm) {
  int one = 1, count = 0, place, size, token;
  if (comm == MPI_COMM_NULL) return;
  MPI_Comm_rank(comm, &place);
  MPI_Comm_size(comm, &size);
  MPI_Allreduce(&one, &count, 1, MPI_INT, MPI_SUM, comm);
  token = place;
  MPI_Sendrecv_replace(&token, 1, MPI_INT, (place + 1) % size, 1, (place + size - 1) % size, 1, comm,
                       MPI_STATUS_IGNORE);
  printf("rank %d: %s: %d of %d, %d counted, after %d\n", rank, name, place, size, count, token);
}

static void show_and_free(const char* name, MPI_Comm* comm) {
  show(name, *comm);
  if (*comm != MPI_COMM_NULL) MPI_Comm_free(comm);
}

/* A line of all ranks but the last. */
static MPI_Comm line(void) {
  const int size = ranks - 1, circular = 1;
  MPI_Comm made;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &circular, 0, &made);
  return made;
}

static void topologies(void) {
  int degrees[64], edges[64];
  MPI_Comm made = line();
  show_and_free("cart", &made);
  for (int i = 0; i < ranks - 1; i++) degrees[i] = i + 1, edges[i] = (i + 1) % (ranks - 1);
  MPI_Graph_create(MPI_COMM_WORLD, ranks - 1, degrees, edges, 0, &made);
  show_and_free("graph", &made);
  const int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &last, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &made);
  show_and_free("adjacent graph", &made);
}

static void parts(void) {
  MPI_Comm made;
  MPI_Group world, group;
  const int left_out = ranks - 1;
  MPI_Comm_split(MPI_COMM_WORLD, rank == left_out ? MPI_UNDEFINED : 0, -rank, &made);
  show_and_free("split", &made);
  MPI_Comm_split_type(MPI_COMM_WORLD, rank == left_out ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
  if (made != MPI_COMM_NULL) MPI_Comm_free(&made); /* on the fabric each rank has a node of its own */
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_excl(world, 1, &left_out, &group);
  MPI_Comm_create(MPI_COMM_WORLD, group, &made);
  show_and_free("create", &made);
  if (rank != left_out) {
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 3, &made);
    show_and_free("create_group", &made);
    MPI_Comm_create_from_group(group, "part", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
    show_and_free("create_from_group", &made);
  }
  MPI_Group_free(&group);
  MPI_Group_free(&world);
}

/* Created from a topology on a part. */
static void derived(void) {
  const int stays = 1;
  MPI_Comm part = line(), made;
  MPI_Request request;
  if (part != MPI_COMM_NULL) {
    MPI_Comm_dup(part, &made);
    show_and_free("dup of the cart", &made);
    MPI_Comm_idup(part, &made, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    show_and_free("idup of the cart", &made);
    MPI_Cart_sub(part, &stays, &made);
    show_and_free("sub of the cart", &made);
    MPI_Comm_split(part, 0, -rank, &made);
    show_and_free("split of the cart", &made);
    const int size = 1, circular = 0;
    MPI_Cart_create(part, 1, &size, &circular, 0, &made);
    show_and_free("cart of the cart", &made);
  }
  MPI_Comm between, local = part != MPI_COMM_NULL ? part : MPI_COMM_SELF;
  MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, part != MPI_COMM_NULL ? ranks - 1 : 0, 9, &between);
  int one = 1, others;
  MPI_Allreduce(&one, &others, 1, MPI_INT, MPI_SUM, between);
  printf("rank %d: between: %d others\n", rank, others);
  MPI_Comm_free(&between);
  if (part != MPI_COMM_NULL) MPI_Comm_free(&part);
}

/* MPICH (5.0.2) crashes in the split if the groups differ in size, and in the merge if one is a topology's on a
 * part. */
static void between_halves(void) {
  const int upper = rank >= ranks / 2;
  MPI_Comm half, between, part, both;
  MPI_Comm_split(MPI_COMM_WORLD, upper, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : ranks / 2, 9, &between);
  MPI_Intercomm_merge(between, !upper, &both);
  show_and_free("merge", &both);
  MPI_Comm_split(between, rank == ranks - 1 ? MPI_UNDEFINED : 0, 0, &part);
  if (part != MPI_COMM_NULL) {
    int one = 1, others = 0;
    MPI_Allreduce(&one, &others, 1, MPI_INT, MPI_SUM, part);
    printf("rank %d: split between halves: %d others\n", rank, others);
    MPI_Comm_free(&part);
  }
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  topologies();
  parts();
  derived();
  if (ranks % 2 == 0) between_halves();
  return end();
}
