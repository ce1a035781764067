// SPDX-License-Identifier: Apache-2.0
/* Pi by the midpoint rule, with one broadcast, one reduction and one gather. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, ranks, intervals = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  if (rank == 0) intervals = argc > 1 ? atoi(argv[1]) : 100000;
  MPI_Bcast(&intervals, 1, MPI_INT, 0, MPI_COMM_WORLD);

  double part = 0, pi = 0;
  for (int i = rank; i < intervals; i += ranks) {
    const double x = (i + 0.5) / intervals;
    part += 4 / (1 + x * x) / intervals;
  }
  MPI_Reduce(&part, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);

  double* parts = rank == 0 ? malloc((size_t)ranks * sizeof *parts) : NULL;
  MPI_Gather(&part, 1, MPI_DOUBLE, parts, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    for (int i = 0; i < ranks; ++i) printf("rank %d added %.6f\n", i, parts[i]);
    printf("pi is about %.8f, error below 1e-9: %s\n", pi, fabs(pi - acos(-1)) < 1e-9 ? "yes" : "no");
  }
  free(parts);
  MPI_Finalize();
  return 0;
}
