// SPDX-License-Identifier: Apache-2.0
/* Sessions alone, without MPI_Init: collectives, messages, derived types, communicators created from each other;
 * twice, with all of MPI finalized in between. */
#include <mpi.h>
#include <stdio.h>

static void turn(const char* tag) {
  MPI_Session session;
  MPI_Group world;
  MPI_Comm all, copy, half, ring;
  MPI_Datatype pair;
  int rank, ranks, one = 1, count = 0, sent[4], got[4] = {-1, -1, -1, -1}, place, size;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
  MPI_Comm_create_from_group(world, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &all);
  MPI_Group_free(&world);
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &ranks);
  MPI_Allreduce(&one, &count, 1, MPI_INT, MPI_SUM, all);
  for (int i = 0; i < 4; i++) sent[i] = 10 * rank + i;
  MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Sendrecv(sent, 1, pair, (rank + 1) % ranks, 3, got, 1, pair, (rank + ranks - 1) % ranks, 3, all,
               MPI_STATUS_IGNORE);
  MPI_Type_free(&pair);
  printf("rank %d, %s: %d counted, got %d %d\n", rank, tag, count, got[0], got[2]);
  MPI_Comm_dup(all, &copy);
  MPI_Comm_split(copy, rank == 0 ? MPI_UNDEFINED : 0, 0, &half);
  MPI_Cart_create(copy, 1, &ranks, &one, 0, &ring);
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, ring);
  printf("rank %d, %s: neighbours %d %d\n", rank, tag, got[0], got[1]);
  if (half != MPI_COMM_NULL) {
    MPI_Comm_rank(half, &place);
    MPI_Comm_size(half, &size);
    MPI_Scan(&one, &count, 1, MPI_INT, MPI_SUM, half);
    printf("rank %d, %s: %d of %d, scan %d\n", rank, tag, place, size, count);
    MPI_Comm_free(&half);
  }
  MPI_Comm_free(&ring);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&all);
  MPI_Session_finalize(&session);
}

int main(void) {
  turn("first");
  turn("second");
  return 0;
}
