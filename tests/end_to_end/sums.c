// SPDX-License-Identifier: Apache-2.0
/* Sums whose bits depend on the order of the operands, on all ranks and on halves of them, with messages in between;
 * prints the bits of every rank's results, and their times. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { largest = 8192 };

static uint64_t hash(uint64_t seed, const void* data, size_t bytes) { /* FNV-1a */
  for (size_t i = 0; i < bytes; ++i) seed = (seed ^ ((const unsigned char*)data)[i]) * 1099511628211u;
  return seed;
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);

  static double mine[largest], sum[largest], other[largest];
  srand(12345 + rank);
  uint64_t bits = 14695981039346656037u;
  for (int count = 1; count <= largest; count *= 8) {
    for (int i = 0; i < count; ++i) mine[i] = (rand() - RAND_MAX / 2) * (rand() % 2 ? 1e-3 : 1e3);
    MPI_Allreduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    bits = hash(bits, sum, count * sizeof *sum);
    MPI_Sendrecv(sum, count, MPI_DOUBLE, (rank + 1) % ranks, 0, other, count, MPI_DOUBLE, (rank + ranks - 1) % ranks, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; ++i) other[i] += mine[i];
    MPI_Allreduce(MPI_IN_PLACE, other, count, MPI_DOUBLE, MPI_SUM, half);
    bits = hash(bits, other, count * sizeof *other);
    MPI_Reduce(other, sum, count, MPI_DOUBLE, MPI_SUM, ranks - 1, MPI_COMM_WORLD);
    if (rank == ranks - 1) bits = hash(bits, sum, count * sizeof *sum);
  }

  struct {
    uint64_t bits;
    double time;
  } own = {bits, MPI_Wtime()}, *everybody = malloc((size_t)ranks * sizeof own);
  MPI_Gather(&own, sizeof own, MPI_BYTE, everybody, sizeof own, MPI_BYTE, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < ranks; ++i)
    printf("rank %d: %016llx at %.9f\n", i, (unsigned long long)everybody[i].bits, everybody[i].time);
  free(everybody);
  MPI_Comm_free(&half);
  MPI_Finalize();
  return 0;
}
