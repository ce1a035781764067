// SPDX-License-Identifier: Apache-2.0
/* Prints a digest of the result bits of each reduction, for sums that depend on the order: large numbers cancel. */
#include <stdint.h>

#include "check.h"

enum { kLongest = 20000 };

static int alike; /* an allreduce has the bits of a reduction to rank 0 */
static double given[8 * kLongest], got[8 * kLongest];

static void fill(int seed, int count) {
  uint64_t x = 0x9e3779b97f4a7c15u * (uint64_t)(rank + 1) + (uint64_t)seed;
  for (int i = 0; i < count; i++) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    given[i] = (double)(int64_t)x * (x & 1 ? 1e-18 : x & 2 ? 1.0 : 1e12);
  }
}

static void tell(const char* name, int count, int number) {
  uint64_t digest = 14695981039346656037u, all;
  for (int i = 0; i < count; i++) {
    uint64_t bits;
    memcpy(&bits, &got[i], sizeof bits);
    digest = (digest ^ bits) * 1099511628211u;
  }
  digest *= 2 * (uint64_t)rank + 1; /* makes the sum over ranks depend on which rank has which value */
  MPI_Reduce(&digest, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%s %d: %016llx\n", name, number, (unsigned long long)all);
}

static void all_of(MPI_Comm comm, int seed, int count) {
  int size, own;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &own);
  fill(seed, size * count);
  memset(got, 0, sizeof got);
  MPI_Allreduce(given, got, count, MPI_DOUBLE, MPI_SUM, comm);
  tell("allreduce", count, count);
  static double first[kLongest];
  memcpy(first, got, (size_t)count * sizeof(double));
  for (int turn = 0; turn < 3; turn++) {
    const int root = 2 * turn % size;
    memset(got, 0, sizeof got);
    MPI_Reduce(given, got, count, MPI_DOUBLE, MPI_SUM, root, comm);
    if (alike && root == 0 && own == 0) CHECK(memcmp(first, got, (size_t)count * sizeof(double)) == 0);
    tell("reduce", count, root);
  }
  memset(got, 0, sizeof got);
  MPI_Reduce_scatter_block(given, got, count, MPI_DOUBLE, MPI_SUM, comm);
  tell("reduce_scatter_block", count, count);
  MPI_Scan(given, got, count, MPI_DOUBLE, MPI_SUM, comm);
  tell("scan", count, count);
  memset(got, 0, sizeof got);
  MPI_Exscan(given, got, count, MPI_DOUBLE, MPI_SUM, comm);
  tell("exscan", count, count);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  alike = argc > 1;
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 3 == 0, -rank, &part);
  const int counts[] = {1, 77, kLongest};
  for (int i = 0; i < 3; i++) {
    all_of(MPI_COMM_WORLD, i, counts[i]);
    all_of(part, 10 + i, counts[i]);
  }
  MPI_Comm_free(&part);
  return end();
}
