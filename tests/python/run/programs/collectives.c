// SPDX-License-Identifier: Apache-2.0
/* Collectives in the network and outside it, on communicators of all kinds: are the results MPI's? */
#include "check.h"

#define MOST 128

static int sum_of_ranks(void) {
  return ranks * (ranks - 1) / 2;
}

static void in_the_network(MPI_Comm comm) {
  int me, size, value, all[MOST];
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &size);
  MPI_Barrier(comm);
  for (int root = 0; root < size; root += size - 1) {
    value = me == root ? 42 + root : 0;
    MPI_Bcast(&value, 1, MPI_INT, root, comm);
    CHECK(value == 42 + root);
    int own = me + 1, product = 0;
    MPI_Reduce(me == root ? MPI_IN_PLACE : &own, me == root ? &own : NULL, 1, MPI_INT, MPI_SUM, root, comm);
    product = size * (size + 1) / 2;
    CHECK(me != root || own == product);
    all[me] = me * 3;
    if (me == root)
      MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, root, comm);
    else
      MPI_Gather(&all[me], 1, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root, comm);
    for (int i = 0; me == root && i < size; i++) CHECK(all[i] == i * 3);
    if (size == 1) break;
  }
  value = me;
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, comm);
  CHECK(value == size - 1);
  MPI_Allgather(&me, 1, MPI_INT, all, 1, MPI_INT, comm);
  for (int i = 0; i < size; i++) CHECK(all[i] == i);

  struct {
    double value;
    int place;
  } own = {me == size / 2 ? -1.5 : me, me}, least;
  MPI_Allreduce(&own, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, comm);
  CHECK(least.value == -1.5 && least.place == size / 2);

  /* Derived types are moved as their bytes; gaps are not written. */
  MPI_Datatype column;
  int matrix[4][3];
  for (int i = 0; i < 12; i++) matrix[i / 3][i % 3] = me == 0 ? i : -1;
  MPI_Type_vector(4, 1, 3, MPI_INT, &column);
  MPI_Type_commit(&column);
  MPI_Bcast(&matrix[0][1], 1, column, 0, comm);
  for (int i = 0; i < 12; i++) CHECK(matrix[i / 3][i % 3] == (me == 0 || i % 3 == 1 ? i : -1));
  MPI_Type_free(&column);
}

static void non_blocking(void) {
  MPI_Request requests[4];
  int sum = 0, value = rank == 1 ? 9 : 0, all[MOST], out[MOST], in[MOST];
  for (int i = 0; i < ranks; i++) out[i] = rank * 100 + i;
  MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
  MPI_Ibcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Ialltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD, &requests[2]);
  MPI_Iallgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  CHECK(sum == sum_of_ranks() && value == 9);
  for (int i = 0; i < ranks; i++) CHECK(in[i] == i * 100 + rank && all[i] == i);
}

static void add(void* from, void* to, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; i++) ((int*)to)[i] += ((int*)from)[i];
}

static void in_software(void) {
  int out[MOST], in[MOST], counts[MOST], places[MOST], value, sum;
  for (int i = 0; i < ranks; i++) {
    out[i] = rank * 100 + i;
    counts[i] = 1;
    places[i] = i;
  }
  MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < ranks; i++) CHECK(in[i] == i * 100 + rank);
  MPI_Alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < ranks; i++) CHECK(in[i] == i * 100 + rank);
  MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == rank * (rank + 1) / 2);
  MPI_Allgatherv(&rank, 1, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < ranks; i++) CHECK(in[i] == i);
  MPI_Gatherv(&rank, 1, MPI_INT, in, counts, places, MPI_INT, ranks - 1, MPI_COMM_WORLD);
  MPI_Scatter(out, 1, MPI_INT, &value, 1, MPI_INT, 1, MPI_COMM_WORLD);
  CHECK(value == 100 + rank);
  MPI_Scatterv(out, counts, places, MPI_INT, &value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  CHECK(value == rank);
  MPI_Reduce_scatter_block(out, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(value == 100 * sum_of_ranks() + ranks * rank);

  MPI_Op own;
  MPI_Op_create(add, 1, &own);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, own, MPI_COMM_WORLD);
  CHECK(sum == sum_of_ranks());
  MPI_Op_free(&own);
  long double wide = rank, total;
  MPI_Allreduce(&wide, &total, 1, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  CHECK(total == sum_of_ranks());
}

static void communicators(void) {
  MPI_Comm half, copy, cart, other, merged;
  MPI_Request request;
  int me, sum, neighbours[2], dims[1] = {ranks}, periods[1] = {1}, peer = -1;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half); /* in the reverse order of ranks */
  in_the_network(half);
  MPI_Comm_rank(half, &me);
  MPI_Comm_dup(half, &copy);
  in_the_network(copy);
  MPI_Comm_free(&copy);

  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &cart);
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, neighbours, 1, MPI_INT, cart);
  CHECK(neighbours[0] == (rank + ranks - 1) % ranks && neighbours[1] == (rank + 1) % ranks);
  MPI_Comm_free(&cart);

  MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  in_the_network(copy);
  MPI_Comm_free(&copy);

  MPI_Group world, first;
  int range[1][3] = {{0, ranks / 2 - 1, 1}};
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_range_incl(world, 1, range, &first);
  if (rank < ranks / 2) {
    MPI_Comm_create_group(MPI_COMM_WORLD, first, 7, &copy);
    in_the_network(copy);
    MPI_Comm_free(&copy);
  }
  MPI_Group_free(&first);
  MPI_Group_free(&world);

  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? ranks - 2 : ranks - 1, 0, &other);
  MPI_Sendrecv(&rank, 1, MPI_INT, me, 0, &peer, 1, MPI_INT, me, 0, other, MPI_STATUS_IGNORE);
  CHECK(peer == (rank ^ 1));
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, other); /* of the other group */
  CHECK(sum == (rank % 2 ? ranks / 2 * (ranks / 2 - 1) : ranks / 2 * (ranks / 2)));
  MPI_Intercomm_merge(other, rank % 2, &merged);
  in_the_network(merged);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&other);
  MPI_Comm_free(&half);
}

/* Calls that the fabric does not support still work. */
static void windows(void) {
  int mine = rank, got = -1;
  MPI_Win window;
  MPI_Win_create(&mine, sizeof mine, sizeof mine, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  MPI_Get(&got, 1, MPI_INT, (rank + 1) % ranks, 0, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  CHECK(got == (rank + 1) % ranks);
  MPI_Win_free(&window);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  in_the_network(MPI_COMM_WORLD);
  in_the_network(MPI_COMM_SELF);
  non_blocking();
  in_software();
  communicators();
  windows();
  return end();
}
