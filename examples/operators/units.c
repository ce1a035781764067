// SPDX-License-Identifier: Apache-2.0
/* Sums of doubles in fixed point, with the same bits in any order, and masked broadcasts: units convert the data in
 * transit. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thalweg_mpi.h>

enum { N = 5000 };

static double rounded(double x) {
  return ldexp(llrint(ldexp(x, 32)), -32);
}

static void fixed_sum(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; i++) ((double*)inout)[i] = rounded(((double*)in)[i]) + rounded(((double*)inout)[i]);
}

static double value(int rank, int i) {
  return sin(rank + 0.1 * i) * pow(10, (rank + i) % 5);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Op plus;
  MPI_Op_create(fixed_sum, 1, &plus);
  Thalweg_Op_in_network(plus, "fixed_sum");

  static double x[N], sum[N];
  for (int i = 0; i < N; i++) x[i] = value(rank, i);
  MPI_Allreduce(x, sum, N, MPI_DOUBLE, plus, MPI_COMM_WORLD);
  for (int i = 0; i < N; i++) {
    double expected = 0;
    for (int r = ranks; r-- > 0;) expected += rounded(value(r, i));
    wrong += sum[i] != expected;
  }

  for (int size = 1; size < N; size += 997) { /* various lengths */
    char text[N], expected[N];
    for (int i = 0; i < size; i++) expected[i] = (char)(i * size);
    memset(text, 0, sizeof text);
    if (rank == 1) memcpy(text, expected, (size_t)size);
    MPI_Bcast(text, size, MPI_CHAR, 1, MPI_COMM_WORLD);
    wrong += memcmp(text, expected, (size_t)size) != 0;
  }

  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong\n", wrong);
  MPI_Op_free(&plus);
  MPI_Finalize();
  return wrong != 0;
}
