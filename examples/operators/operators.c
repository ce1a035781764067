// SPDX-License-Identifier: Apache-2.0
/* Reductions with user-defined operations, which the switches compute if the run has their operators. */
#include <complex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <thalweg_mpi.h>

enum { N = 4096 };

static void product(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  const double complex* a = in;
  double complex* b = inout;
  for (int i = 0; i < *count; i++) b[i] *= a[i];
}

static int16_t saturated(int sum) {
  return sum > INT16_MAX ? INT16_MAX : sum < INT16_MIN ? INT16_MIN : (int16_t)sum;
}

static void saturating_sum(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  const int16_t* a = in;
  int16_t* b = inout;
  for (int i = 0; i < *count; i++) b[i] = saturated(a[i] + b[i]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Op times, plus;
  MPI_Op_create(product, 1, &times);
  MPI_Op_create(saturating_sum, 1, &plus);
  Thalweg_Op_in_network(times, "complex_product");
  Thalweg_Op_in_network(plus, "saturating_sum");

  /* Powers of i times powers of two: exact in any order. */
  static double complex z[N], expected[N];
  static const double complex unit[] = {1, I, -1, -I};
  for (int i = 0; i < N; i++) {
    int turns = 0, exponent = 0;
    for (int r = 0; r < ranks; r++) turns += i + r, exponent += (i * r) % 3 - 1;
    z[i] = unit[(i + rank) % 4] * ((i * rank) % 3 == 0 ? 0.5 : (i * rank) % 3 == 1 ? 1.0 : 2.0);
    expected[i] = unit[turns % 4];
    for (; exponent > 0; exponent--) expected[i] *= 2;
    for (; exponent < 0; exponent++) expected[i] /= 2;
  }
  MPI_Allreduce(MPI_IN_PLACE, z, N, MPI_C_DOUBLE_COMPLEX, times, MPI_COMM_WORLD);
  int wrong = 0;
  for (int i = 0; i < N; i++) wrong += z[i] != expected[i];

  /* All operands of an element have the same sign, so the order does not matter either. */
  static int16_t v[N], sums[N];
  for (int i = 0; i < N; i++) v[i] = (int16_t)((i - N / 2) * 3);
  MPI_Reduce(v, sums, N, MPI_INT16_T, plus, ranks - 1, MPI_COMM_WORLD);
  if (rank == ranks - 1)
    for (int i = 0; i < N; i++) wrong += sums[i] != saturated(v[i] * ranks);

  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong\n", wrong);
  MPI_Op_free(&times);
  MPI_Op_free(&plus);
  MPI_Finalize();
  return wrong != 0;
}
