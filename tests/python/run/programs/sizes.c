// SPDX-License-Identifier: Apache-2.0
/* Collectives on whose size rank 1 and the others disagree, with an error handler; afterwards the communicator is
 * used again. With "alone" only those that MPI alone also ends, for a comparison with it. */
#include "check.h"

static int x[64], y[64], told, tells;
static MPI_Comm c;

static void handler(MPI_Comm* comm, int* error, ...) {
  CHECK(*comm == c);
  MPI_Error_class(*error, &told);
  ++tells;
}

static int class_of(int error) {
  int class;
  MPI_Error_class(error, &class);
  return class;
}

/* Every sum of ranks is right. */
static void use_again(void) {
  int sum = 0;
  MPI_Request q;
  CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, c) == MPI_SUCCESS && sum == ranks * (ranks - 1) / 2);
  CHECK(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_MAX, c, &q) == MPI_SUCCESS);
  CHECK(MPI_Wait(&q, MPI_STATUS_IGNORE) == MPI_SUCCESS && sum == ranks - 1);
}

/* `hears`: this rank must get the error, by its handler and by the call; another one may. */
#define TRY(hears, call)                                                     \
  do {                                                                       \
    told = tells = 0;                                                        \
    const int class_ = class_of(call);                                       \
    if (hears) CHECK(class_ == MPI_ERR_TRUNCATE);                            \
    if (!returns) CHECK(told == class_ && tells == (class_ != MPI_SUCCESS)); \
    use_again();                                                             \
  } while (0)

static int waited(MPI_Request* q) {
  return MPI_Wait(q, MPI_STATUS_IGNORE);
}

static void sizes(int returns) {
  const int mine = rank == 1 ? 2 : 4, all = 1;
  MPI_Request q;
  TRY(rank == 1, MPI_Gather(x, 4, MPI_INT, y, mine, MPI_INT, 1, c));
  TRY(rank == 1, MPI_Scatter(x, 4, MPI_INT, y, mine, MPI_INT, 0, c));
  TRY(all, MPI_Allgather(x, mine, MPI_INT, y, mine, MPI_INT, c));
  TRY(all, MPI_Alltoall(x, 2 * mine, MPI_INT, y, 4, MPI_INT, c));
  TRY(all, MPI_Allreduce(x, y, mine, MPI_INT, MPI_SUM, c));
  TRY(all, MPI_Reduce_scatter_block(x, y, mine, MPI_INT, MPI_SUM, c));
  TRY(rank == 1, MPI_Bcast(x, mine, MPI_INT, 0, c));
  TRY(rank == 1, MPI_Reduce(x, y, mine, MPI_INT, MPI_SUM, 1, c));
  TRY(rank == 1, MPI_Scan(x, y, mine, MPI_INT, MPI_SUM, c));
  TRY(all, (MPI_Iallreduce(x, y, mine, MPI_INT, MPI_SUM, c, &q), waited(&q)));
  TRY(rank == 1, (MPI_Ibcast(x, mine, MPI_INT, 0, c, &q), waited(&q)));
#if MPI_VERSION >= 4
  MPI_Allgather_init(x, mine, MPI_INT, y, mine, MPI_INT, c, MPI_INFO_NULL, &q);
  for (int i = 0; i < 2; ++i) TRY(all, (MPI_Start(&q), waited(&q)));
  MPI_Request_free(&q);
#endif
}

static void add(void* in, void* out, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)out)[i] += ((int*)in)[i];
}

/* By MPI itself in both cases: only the root gets the error. */
static void in_software(void) {
  MPI_Op own;
  MPI_Op_create(add, 1, &own);
  MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
  const int error = MPI_Reduce(x, y, rank == 0 ? 1 : 4, MPI_INT, own, 0, c);
  printf("rank %d: %d\n", rank, class_of(error));
  MPI_Op_free(&own);
  use_again();
}

int main(int argc, char** argv) {
  MPI_Errhandler own;
  begin(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &c);
  MPI_Comm_create_errhandler(handler, &own);
  if (argc > 1) {
    in_software();
  } else {
    for (int returns = 0; returns < 2; ++returns) {
      MPI_Comm_set_errhandler(c, returns ? MPI_ERRORS_RETURN : own);
      sizes(returns);
    }
  }
  MPI_Errhandler_free(&own);
  MPI_Comm_free(&c);
  return end();
}
