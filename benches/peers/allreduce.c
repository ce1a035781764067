// SPDX-License-Identifier: Apache-2.0
// Consecutive calls of MPI_Allreduce: allreduce BYTES CALLS.
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int count = atoi(argv[1]) / (int)sizeof(double), calls = atoi(argv[2]);
  double* const mine = calloc((size_t)count, sizeof(double));
  double* const sum = calloc((size_t)count, sizeof(double));
  for (int k = 0; k < count; ++k) mine[k] = k + 1;
  for (int call = 0; call < calls; ++call) MPI_Allreduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int k = 0; k < count; ++k)
    if (calls > 0 && sum[k] != (k + 1.0) * ranks) MPI_Abort(MPI_COMM_WORLD, 1);
  free(sum);
  free(mine);
  MPI_Finalize();
  return 0;
}
