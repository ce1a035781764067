// SPDX-License-Identifier: Apache-2.0
/* Shared by the test programs: MPI set-up, and a check that ends the program on failure. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

#define CHECK(what)                                                    \
  do {                                                                 \
    if (!(what)) {                                                     \
      printf("rank %d: %s:%d: %s\n", rank, __FILE__, __LINE__, #what); \
      fflush(stdout);                                                  \
      MPI_Abort(MPI_COMM_WORLD, 3);                                    \
    }                                                                  \
  } while (0)

static void begin(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

static int end(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("all right\n");
  MPI_Finalize();
  return 0;
}
