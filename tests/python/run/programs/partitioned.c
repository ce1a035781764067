// SPDX-License-Identifier: Apache-2.0
/* Partitioned allreduce and broadcast: correct in any order of ready partitions, and in flight before all are ready. */
#include "check.h"
#include "thalweg_mpix.h"

enum { PARTS = 6, COUNT = 500, TURNS = 3 };

static double send[PARTS * COUNT], receive[PARTS * COUNT];

static double given(int from, int turn, int i) {
  return from * 3 + turn * 7 + i % 101;
}

static void work(double seconds) {
  for (const double start = MPI_Wtime(); MPI_Wtime() - start < seconds;);
}

static void check_sums(int turn, int first, int last) {
  for (int i = first; i < last; i++) {
    double sum = 0;
    for (int from = 0; from < ranks; from++) sum += given(from, turn, i);
    CHECK(receive[i] == sum);
  }
}

static void allreduce(void) {
  MPIX_Prequest request;
  MPIX_Pallreduce_init(send, receive, PARTS, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int turn = 0; turn < TURNS; turn++) {
    int flag = 1;
    MPIX_Pstart(&request);
    MPIX_Parrived(&request, PARTS - 1, &flag);
    CHECK(!flag && MPIX_Pwait(&request) == MPI_ERR_PENDING && MPIX_Pready(PARTS, &request) == MPI_ERR_ARG);
    for (int k = 0; k < PARTS; k++) {
      const int part = turn == 0 ? k : turn == 1 ? PARTS - 1 - k : (k + rank) % PARTS; /* every rank in its own order */
      for (int i = part * COUNT; i < (part + 1) * COUNT; i++) send[i] = given(rank, turn, i);
      MPIX_Pready(part, &request);
      if (turn != 0) continue;
      if (k == 0) work(50e-6); /* the first partition is done long before the second is ready */
      if (k == 0) MPIX_Parrived(&request, 0, &flag);
      if (k == 0) CHECK(flag);
      if (k == 0) check_sums(turn, 0, COUNT);
    }
    MPIX_Pwait(&request);
    check_sums(turn, 0, PARTS * COUNT);
  }
  MPIX_Prequest_free(&request);
}

static void broadcast(void) {
  MPIX_Prequest request;
  const int root = ranks - 1;
  MPIX_Pbcast_init(receive, PARTS, COUNT, MPI_DOUBLE, root, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int turn = 0; turn < TURNS; turn++) {
    MPIX_Pstart(&request);
    for (int part = 0; rank == root && part < PARTS; part++) {
      for (int i = part * COUNT; i < (part + 1) * COUNT; i++) receive[i] = given(root, turn, i);
      MPIX_Pready(part, &request);
    }
    MPIX_Pwait(&request);
    for (int i = 0; i < PARTS * COUNT; i++) CHECK(receive[i] == given(root, turn, i));
  }
  MPIX_Prequest_free(&request);
}

/* The time of `parts` pieces of work and of their sums, measured by the last rank. */
static double pipeline(int parts) {
  static double large[1 << 16], sums[1 << 16];
  MPIX_Prequest request;
  double own, last;
  MPIX_Pallreduce_init(large, sums, parts, (1 << 16) / parts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &request);
  MPI_Barrier(MPI_COMM_WORLD);
  own = MPI_Wtime();
  MPIX_Pstart(&request);
  for (int part = 0; part < parts; part++) {
    work(160e-6 / parts);
    MPIX_Pready(part, &request);
  }
  MPIX_Pwait(&request);
  own = MPI_Wtime() - own;
  MPI_Allreduce(&own, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPIX_Prequest_free(&request);
  return last;
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  allreduce();
  broadcast();
  const double whole = pipeline(1), parts = pipeline(8);
  if (rank == 0) printf("whole %.1f us, in eight partitions %.1f us\n", whole * 1e6, parts * 1e6);
  CHECK(parts < 0.8 * whole);
  return end();
}
