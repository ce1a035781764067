// SPDX-License-Identifier: Apache-2.0
/* Messages between rank 0 and a peer: latency by ping-pong, bandwidth by a window of messages in flight. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "osu.h"

enum { window = 64, tag = 7 };

static size_t received(const char* buffer, size_t bytes, unsigned salt) {
  return byte_differences(buffer, pattern(bytes, 0, salt), bytes);
}

static void head(const char* name, const char* unit, int rank) {
  if (rank == 0) printf("\n# %s\n%12s %11s %12s  %s\n", name, "bytes", "repetitions", unit, "verified");
}
/* Rank 0 receives the peer's number of wrong bytes, and prints the row. */
static void row(int rank, int peer, size_t bytes, int repeats, double value, size_t wrong) {
  unsigned long long own = wrong, theirs = 0;
  if (rank == peer) MPI_Send(&own, 1, MPI_UNSIGNED_LONG_LONG, 0, tag, MPI_COMM_WORLD);
  if (rank != 0) return;
  MPI_Recv(&theirs, 1, MPI_UNSIGNED_LONG_LONG, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  printf("%12zu %11d %12.2f  %s\n", bytes, repeats, value, own + theirs ? "NO" : "yes");
  fflush(stdout);
}

size_t measure_latency(const struct plan* plan, int peer) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  size_t wrong = 0;
  head("latency", "us", rank);
  for (size_t bytes = plan->smallest; bytes <= plan->largest; bytes = bytes ? bytes * 2 : 1) {
    if (rank != 0 && rank != peer) continue;
    const int repeats = repetitions(plan, 2 * bytes);
    const int warmup = plan->warmup < repeats ? plan->warmup : repeats;
    char* buffer = allocate(bytes);
    double start = 0;
    size_t own = 0;
    for (int i = -warmup; i < repeats; ++i) {
      const unsigned salt = (unsigned)(i + warmup);
      if (i == 0) start = MPI_Wtime();
      if (rank == 0) {
        const int checked = i == repeats - 1; /* the peer returns the received data */
        if (i == -warmup || checked) memcpy(buffer, pattern(bytes, 0, salt), bytes);
        MPI_Send(buffer, (int)bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD);
        if (checked) memset(buffer, 0x55, bytes);
        MPI_Recv(buffer, (int)bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (checked) own += received(buffer, bytes, salt);
      } else {
        MPI_Recv(buffer, (int)bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer, (int)bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD);
      }
    }
    row(rank, peer, bytes, repeats, (MPI_Wtime() - start) / repeats / 2 * 1e6, own);
    wrong += own;
    free(buffer);
  }
  return wrong;
}

size_t measure_bandwidth(const struct plan* plan, int peer) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  size_t wrong = 0;
  head("bandwidth", "MB/s", rank);
  for (size_t bytes = plan->smallest; bytes <= plan->largest; bytes = bytes ? bytes * 2 : 1) {
    if (rank != 0 && rank != peer) continue;
    const int repeats = repetitions(plan, window * bytes);
    const int warmup = plan->warmup < repeats ? plan->warmup : repeats;
    char *buffer = allocate(bytes * window), done = 0;
    MPI_Request requests[window];
    double start = 0;
    size_t own = 0;
    if (rank == 0)
      for (int k = 0; k < window; ++k) memcpy(buffer + (size_t)k * bytes, pattern(bytes, 0, (unsigned)k), bytes);
    for (int i = -warmup; i < repeats; ++i) {
      if (i == 0) start = MPI_Wtime();
      for (int k = 0; k < window; ++k) {
        char* message = buffer + (size_t)k * bytes;
        if (rank == 0)
          MPI_Isend(message, (int)bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &requests[k]);
        else
          MPI_Irecv(message, (int)bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &requests[k]);
      }
      MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
      if (rank == 0)
        MPI_Recv(&done, 1, MPI_CHAR, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      else
        MPI_Send(&done, 1, MPI_CHAR, 0, tag, MPI_COMM_WORLD);
    }
    const double seconds = MPI_Wtime() - start;
    if (rank == peer)
      for (int k = 0; k < window; ++k) own += received(buffer + (size_t)k * bytes, bytes, (unsigned)k);
    row(rank, peer, bytes, repeats, seconds > 0 ? (double)bytes * window * repeats / seconds / 1e6 : 0, own);
    wrong += own;
    free(buffer);
  }
  return wrong;
}
