// SPDX-License-Identifier: Apache-2.0
/* Sorts integers that are distributed over all ranks, by buckets.
 *
 *   is [-n KEYS] [-b BITS] [-k BITS] [-i REPETITIONS]
 *
 * It communicates like integer sorts: an allreduce of the bucket sizes, which determines each rank's buckets; an
 * all-to-all of the numbers of keys; an all-to-all of the keys. It then checks that keys do not decrease within and
 * across ranks, and that their number and the sum of their hashes are unchanged. Exit status: 0 if so, 1 if not, 2 for
 * an invalid command line. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/program.h"

static const char usage[] =
    "usage: is [options]\n"
    "  -n KEYS         of each rank (65536)\n"
    "  -b BITS         of a key (20)\n"
    "  -k BITS         of a key that choose its bucket (10)\n"
    "  -i REPETITIONS  each with other keys (5)\n";

/* A random number for each i (the finalizer of MurmurHash3, by A. Appleby, public domain). */
static uint64_t hash(uint64_t i) {
  i += 0x9e3779b97f4a7c15;
  i = (i ^ (i >> 33)) * 0xff51afd7ed558ccd;
  i = (i ^ (i >> 33)) * 0xc4ceb9fe1a85ec53;
  return i ^ (i >> 33);
}

struct keys {
  uint32_t* all;
  size_t count;
};

/* Copies the keys in bucket order (bucket: key >> shift) to `to`, and stores the offset of each bucket in `begins`. */
static void by_bucket(const struct keys* keys, int shift, size_t buckets, const int* sizes, size_t* begins,
                      uint32_t* to) {
  size_t* next = zeros(buckets, sizeof *next);
  begins[0] = 0;
  for (size_t b = 0; b < buckets; ++b) begins[b + 1] = begins[b] + (size_t)sizes[b];
  memcpy(next, begins, buckets * sizeof *next);
  for (size_t i = 0; i < keys->count; ++i) to[next[keys->all[i] >> shift]++] = keys->all[i];
  free(next);
}

/* Sorts keys in [low, high) by counting. */
static void count_sort(struct keys* keys, uint32_t low, uint32_t high) {
  size_t* counts = zeros(high - low, sizeof *counts);
  for (size_t i = 0; i < keys->count; ++i) counts[keys->all[i] - low] += 1;
  size_t place = 0;
  for (uint32_t value = low; value < high; ++value)
    for (size_t i = 0; i < counts[value - low]; ++i) keys->all[place++] = value;
  free(counts);
}

/* Sorts over all ranks; returns this rank's part. */
static struct keys sort(const struct keys* mine, int key_bits, int bucket_bits, int rank, int ranks) {
  const int shift = key_bits - bucket_bits;
  const size_t buckets = (size_t)1 << bucket_bits;
  int *own = zeros(buckets, sizeof(int)), *whole = zeros(buckets, sizeof(int));
  for (size_t i = 0; i < mine->count; ++i) own[mine->all[i] >> shift] += 1;
  MPI_Allreduce(own, whole, (int)buckets, MPI_INT, MPI_SUM, MPI_COMM_WORLD);

  /* Rank r receives the buckets first[r] to first[r + 1] - 1, about an equal share of the keys. */
  size_t *first = zeros((size_t)ranks + 1, sizeof *first), passed = 0, bucket = 0, all = 0;
  for (size_t b = 0; b < buckets; ++b) all += (size_t)whole[b];
  for (int r = 1; r < ranks; ++r) {
    while (bucket < buckets && passed < all / (size_t)ranks * (size_t)r) passed += (size_t)whole[bucket++];
    first[r] = bucket;
  }
  first[ranks] = buckets;

  size_t* begins = zeros(buckets + 1, sizeof *begins);
  uint32_t* ordered = zeros(mine->count, sizeof *ordered);
  by_bucket(mine, shift, buckets, own, begins, ordered);
  int *counts = zeros((size_t)ranks * 4, sizeof(int)), *places = counts + ranks, *coming = places + ranks,
      *starts = coming + ranks;
  for (int r = 0; r < ranks; ++r) {
    counts[r] = (int)(begins[first[r + 1]] - begins[first[r]]);
    places[r] = (int)begins[first[r]];
  }
  MPI_Alltoall(counts, 1, MPI_INT, coming, 1, MPI_INT, MPI_COMM_WORLD);
  struct keys sorted = {0};
  for (int r = 0; r < ranks; ++r) {
    starts[r] = (int)sorted.count;
    sorted.count += (size_t)coming[r];
  }
  sorted.all = zeros(sorted.count, sizeof *sorted.all);
  MPI_Alltoallv(ordered, counts, places, MPI_UINT32_T, sorted.all, coming, starts, MPI_UINT32_T, MPI_COMM_WORLD);
  count_sort(&sorted, (uint32_t)(first[rank] << shift), (uint32_t)(first[rank + 1] << shift));
  free(own), free(whole), free(first), free(begins), free(ordered), free(counts);
  return sorted;
}

/* Number of keys, and sum of their hashes. */
static void sums(const struct keys* keys, uint64_t of[2]) {
  of[0] = keys->count;
  of[1] = 0;
  for (size_t i = 0; i < keys->count; ++i) of[1] += hash(keys->all[i]);
}

/* Returns whether keys never decrease, within a rank and to the next non-empty one. */
static int in_order(const struct keys* keys, int rank, int ranks) {
  int right = 1, all;
  for (size_t i = 1; i < keys->count; ++i) right &= keys->all[i - 1] <= keys->all[i];
  uint32_t largest = 0, own = 0;
  if (rank > 0) MPI_Recv(&largest, 1, MPI_UINT32_T, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (keys->count > 0) right &= keys->all[0] >= largest;
  own = keys->count > 0 ? keys->all[keys->count - 1] : largest;
  if (rank + 1 < ranks) MPI_Send(&own, 1, MPI_UINT32_T, rank + 1, 0, MPI_COMM_WORLD);
  MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all;
}

int main(int argc, char** argv) {
  int count = 65536, key_bits = 20, bucket_bits = 10, repetitions = 5, rank, ranks;
  const struct option_of options[] = {
      {'n', &count, 0, 1 << 26}, {'b', &key_bits, 1, 28}, {'k', &bucket_bits, 0, 20}, {'i', &repetitions, 1, 10000}};
  start(&argc, &argv, usage, options, 4);
  if (bucket_bits > key_bits) refuse("a bucket cannot be chosen by %d of %d bits", bucket_bits, key_bits);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if ((long long)count * ranks > INT32_MAX) refuse("%d keys on each of %d ranks are more than 2^31", count, ranks);

  struct keys mine = {zeros((size_t)count, sizeof(uint32_t)), (size_t)count};
  double seconds = 0;
  int right = 1;
  size_t fewest = SIZE_MAX, most = 0;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (size_t i = 0; i < mine.count; ++i) {
      const uint64_t number = ((uint64_t)repetition * (uint64_t)ranks + (uint64_t)rank) * mine.count + i;
      const uint64_t random = hash(number), mask = ((uint64_t)1 << key_bits) - 1;
      mine.all[i] = (uint32_t)(((random & mask) + (random >> 32 & mask)) / 2); /* triangular distribution */
    }
    uint64_t given[2], had[2], all_given[2], all_had[2];
    sums(&mine, given);
    const double begin = MPI_Wtime();
    struct keys sorted = sort(&mine, key_bits, bucket_bits, rank, ranks);
    seconds += MPI_Wtime() - begin;
    sums(&sorted, had);
    MPI_Allreduce(given, all_given, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(had, all_had, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    right &= in_order(&sorted, rank, ranks) && !memcmp(all_given, all_had, sizeof all_given);
    fewest = sorted.count < fewest ? sorted.count : fewest;
    most = sorted.count > most ? sorted.count : most;
    free(sorted.all);
  }
  const double most_of_all = largest_of((double)most), fewest_of_all = -largest_of(-(double)fewest);
  if (rank == 0) {
    printf("is: %d keys of %d bits on each of %d ranks, %d buckets, %d repetitions\n", count, key_bits, ranks,
           1 << bucket_bits, repetitions);
    printf("is: %.0f to %.0f keys on a rank at the end\n", fewest_of_all, most_of_all);
    printf("is: %.6f s\n", seconds);
    printf("is: %s\n", right ? "verified" : "WRONG");
  }
  free(mine.all);
  return finish(right);
}
