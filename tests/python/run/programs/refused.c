// SPDX-License-Identifier: Apache-2.0
/* Calls with arguments that MPI refuses, and others that fail: the class given to the communicator's error handler,
 * then the one that each call returns. Compared with the output of MPI alone. */
#include "check.h"

static int told, returns;

static void handler(MPI_Comm* comm, int* error, ...) {
  (void)comm;
  MPI_Error_class(*error, &told);
}

#define TRY(call)                                               \
  do {                                                          \
    int class_;                                                 \
    told = MPI_SUCCESS;                                         \
    MPI_Error_class(call, &class_);                             \
    printf("%d %d %s\n", rank, returns ? class_ : told, #call); \
  } while (0)

static MPI_Comm c;
static MPI_Request q, both[2];
static MPI_Status s[2];
static int x[16], y[16], z[16], one[2] = {1, 1}, at[2] = {0, 1}, minus[2] = {1, -1};

static void messages(MPI_Datatype raw) {
  const int peer = 1 - rank, large = 1 << 30;
  TRY(MPI_Send(x, -1, MPI_INT, peer, 0, c));
  TRY(MPI_Send(x, 1, MPI_DATATYPE_NULL, peer, 0, c));
  TRY(MPI_Send(x, 1, raw, peer, 0, c));
  TRY(MPI_Send(NULL, 1, MPI_INT, peer, 0, c));
  TRY(MPI_Send(x, 1, MPI_INT, 2, 0, c));
  TRY(MPI_Send(x, 1, MPI_INT, peer, -3, c));
  TRY(MPI_Send(x, 1, MPI_INT, peer, large, c));
  TRY(MPI_Isend(NULL, 1, MPI_INT, peer, 0, c, &q));
  TRY(MPI_Ssend(x, 1, raw, peer, 0, c));
  TRY(MPI_Recv(NULL, 1, MPI_INT, peer, 0, c, MPI_STATUS_IGNORE));
  TRY(MPI_Recv(x, 1, MPI_INT, peer, -3, c, MPI_STATUS_IGNORE));
  TRY(MPI_Irecv(x, 1, raw, peer, 0, c, &q));
  TRY(MPI_Recv_init(x, 1, MPI_INT, -7, 0, c, &q));
  TRY(MPI_Probe(9, 0, c, MPI_STATUS_IGNORE));
  TRY(MPI_Sendrecv(x, 1, raw, peer, 0, y, 1, MPI_INT, peer, 0, c, MPI_STATUS_IGNORE));
}

static void collectives(MPI_Datatype raw) {
  TRY(MPI_Bcast(NULL, 1, MPI_INT, 0, c));
  TRY(MPI_Bcast(x, 1, raw, 0, c));
  TRY(MPI_Bcast(x, -1, MPI_INT, 0, c));
  TRY(MPI_Bcast(x, 1, MPI_INT, 2, c));
  TRY(MPI_Allreduce(x, x, 1, MPI_INT, MPI_SUM, c));
  TRY(MPI_Allreduce(NULL, x, 1, MPI_INT, MPI_SUM, c));
  TRY(MPI_Allreduce(x, NULL, 1, MPI_INT, MPI_SUM, c));
  TRY(MPI_Allreduce(x, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, c));
  TRY(MPI_Allreduce(x, y, 1, raw, MPI_SUM, c));
  TRY(MPI_Allreduce(x, y, 1, MPI_DOUBLE, MPI_BAND, c));
  TRY(MPI_Allreduce(x, y, 1, MPI_INT, MPI_OP_NULL, c));
  TRY(MPI_Iallreduce(x, x, 1, MPI_INT, MPI_SUM, c, &q));
  TRY(MPI_Allreduce_init(x, x, 1, MPI_INT, MPI_SUM, c, MPI_INFO_NULL, &q));
  TRY(MPI_Scan(x, x, 1, MPI_INT, MPI_SUM, c));
  TRY(MPI_Exscan(x, x, 1, MPI_INT, MPI_SUM, c));
  TRY(MPI_Reduce_scatter_block(x, x, 1, MPI_INT, MPI_SUM, c));
  TRY(MPI_Reduce_scatter(x, y, minus, MPI_INT, MPI_SUM, c));
  TRY(MPI_Allgather(x + rank, 1, MPI_INT, x, 1, MPI_INT, c));
  TRY(MPI_Allgather(x, 1, MPI_INT, NULL, 1, MPI_INT, c));
  TRY(MPI_Allgather(x, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, c));
  TRY(MPI_Allgatherv(x + rank, 1, MPI_INT, x, one, at, MPI_INT, c));
  TRY(MPI_Allgatherv(x, 1, MPI_INT, y, minus, at, MPI_INT, c));
  TRY(MPI_Alltoall(x, 1, MPI_INT, x, 1, MPI_INT, c));
  TRY(MPI_Alltoall(x, 1, raw, y, 1, MPI_INT, c));
  TRY(MPI_Alltoallv(x, one, at, MPI_INT, x, one, at, MPI_INT, c));
  TRY(MPI_Alltoallv(x, minus, at, MPI_INT, y, one, at, MPI_INT, c));
  if (rank == 0) { /* the root alone detects it */
    TRY(MPI_Reduce(x, x, 1, MPI_INT, MPI_SUM, 0, c));
    TRY(MPI_Gather(x, 1, MPI_INT, x, 1, MPI_INT, 0, c));
    TRY(MPI_Gatherv(x, 1, MPI_INT, x, one, at, MPI_INT, 0, c));
    TRY(MPI_Scatter(x, 1, MPI_INT, x, 1, MPI_INT, 0, c));
    TRY(MPI_Scatterv(x, one, at, MPI_INT, x, 1, MPI_INT, 0, c));
  }
}

/* Null pointers for results. */
static void nowhere(void) {
  int flag;
  MPI_Group group;
  TRY(MPI_Comm_dup(c, NULL));
  TRY(MPI_Comm_split(c, 0, 0, NULL));
  TRY(MPI_Comm_free(NULL));
  MPI_Comm_group(c, &group);
  TRY(MPI_Comm_create(c, group, NULL));
  TRY(MPI_Comm_create_group(c, group, 0, NULL));
  MPI_Group_free(&group);
  TRY(MPI_Irecv(x, 1, MPI_INT, 0, 0, c, NULL));
  TRY(MPI_Ibarrier(c, NULL));
  TRY(MPI_Iprobe(0, 0, c, NULL, MPI_STATUS_IGNORE));
  TRY(MPI_Wait(NULL, MPI_STATUS_IGNORE));
  TRY(MPI_Waitall(1, NULL, MPI_STATUSES_IGNORE));
  TRY(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
  TRY(MPI_Test(NULL, &flag, MPI_STATUS_IGNORE));
  TRY(MPI_Testall(1, &q, NULL, MPI_STATUSES_IGNORE));
}

/* A communicator that ends with unreceived messages. */
static void left_over(void) {
  MPI_Comm copy;
  MPI_Comm_dup(c, &copy);
  if (rank == 0) MPI_Send(x, 1, MPI_INT, 1, 0, copy);
  MPI_Barrier(copy);
  TRY(MPI_Comm_free(&copy));
  MPI_Comm_dup(c, &copy);
  TRY(MPI_Comm_free(&copy));
}

/* Data that MPI does not refuse. */
static void allowed(void) {
  MPI_Datatype types[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL}, own;
  const int none[2] = {0, 0};
  const MPI_Aint where = (MPI_Aint)x;
  MPI_Type_create_hindexed(1, one, &where, MPI_INT, &own);
  MPI_Type_commit(&own);
  TRY(MPI_Sendrecv(NULL, 0, MPI_INT, 1 - rank, 0, NULL, 0, MPI_INT, 1 - rank, 0, c, MPI_STATUS_IGNORE));
  TRY(MPI_Bcast(MPI_BOTTOM, 1, own, 0, c));
  TRY(MPI_Allgather(x + 1 - rank, 1, MPI_INT, x + 2, 1, MPI_INT, c));
  TRY(MPI_Alltoallw(x, none, at, types, y, none, at, types, c));
  TRY(MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, c));
  MPI_Type_free(&own);
}

static void requests(void) {
  const int peer = 1 - rank;
  MPI_Datatype gaps;
  MPI_Send(x, 2, MPI_INT, peer, 1, c);
  MPI_Send(x, 1, MPI_INT, peer, 2, c);
  TRY(MPI_Recv(y, 1, MPI_INT, peer, 1, c, MPI_STATUS_IGNORE));
  TRY(MPI_Recv(y, 1, MPI_INT, peer, 2, c, MPI_STATUS_IGNORE));
  MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  MPI_Send(x, 6, MPI_BYTE, peer, 3, c);
  MPI_Send(x, 4, MPI_BYTE, peer, 3, c);
  TRY(MPI_Recv(y, 1, gaps, peer, 3, c, MPI_STATUS_IGNORE)); /* ends inside an element */
  TRY(MPI_Recv(y, 1, gaps, peer, 3, c, MPI_STATUS_IGNORE));
  MPI_Type_free(&gaps);
  for (int how = 0; how < 4; ++how) {
    MPI_Irecv(y, 1, MPI_INT, peer, 1, c, &both[0]);
    MPI_Irecv(z, 1, MPI_INT, peer, 2, c, &both[1]);
    MPI_Barrier(c);
    MPI_Send(x, 2, MPI_INT, peer, 1, c);
    MPI_Send(x, 1, MPI_INT, peer, 2, c);
    int found = 0, flag = 0, some[2];
    MPI_Barrier(c);
    s[0].MPI_ERROR = s[1].MPI_ERROR = -1;
    if (how == 0) TRY(MPI_Waitall(2, both, s));
    if (how == 1)
      while (!flag) {
        int error = MPI_Testall(2, both, &flag, s);
        if (error || flag) TRY(error);
      }
    if (how == 2) TRY(MPI_Waitany(1, both, &found, s));
    if (how == 3) TRY(MPI_Wait(&both[0], s));
    if (how < 2) TRY(s[0].MPI_ERROR);
    MPI_Wait(&both[1], &s[1]);
  }
  MPI_Recv_init(x, 1, MPI_INT, peer, 0, c, &q);
  MPI_Start(&q);
  TRY(MPI_Start(&q));
  TRY(MPI_Startall(1, &q));
  MPI_Send(y, 1, MPI_INT, peer, 0, c);
  TRY(MPI_Wait(&q, MPI_STATUS_IGNORE));
  MPI_Request_free(&q);
  MPI_Irecv(x, 1, MPI_INT, peer, 0, c, &q);
  TRY(MPI_Start(&q));
  MPI_Send(y, 1, MPI_INT, peer, 0, c);
  TRY(MPI_Wait(&q, MPI_STATUS_IGNORE));
}

int main(int argc, char** argv) {
  MPI_Errhandler own;
  MPI_Datatype raw;
  begin(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &c);
  MPI_Type_contiguous(2, MPI_INT, &raw);
  MPI_Comm_create_errhandler(handler, &own);
  for (returns = 0; returns < 2; ++returns) {
    MPI_Comm_set_errhandler(c, returns ? MPI_ERRORS_RETURN : own);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, returns ? MPI_ERRORS_RETURN : own);
    messages(raw);
    collectives(raw);
    allowed();
    requests();
    nowhere();
    left_over();
  }
  MPI_Errhandler_free(&own);
  MPI_Type_free(&raw);
  MPI_Comm_free(&c);
  return end();
}
