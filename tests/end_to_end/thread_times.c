// SPDX-License-Identifier: Apache-2.0
/* thread_times HOW ROUNDS: a rank has as many threads as there are ranks. In each round each thread exchanges a message with one
 * rank; then thread 0 waits for all messages. Before and after that the threads meet: HOW "join": they end, having computed for
 * 10 ms each, and are joined; "lock", "trylock", "yield": they spin in a loop that calls pthread_mutex_lock,
 * pthread_mutex_trylock or sched_yield. Rank 0 prints whether all messages were right, and the time of the first, second and last
 * quarter of the rounds, in seconds of MPI_Wtime. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kMost = 8 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int arrivals;
static const char* how;
static int ranks, rank, rounds, sent[kMost], received[kMost], wrong;
static double times[5];
static MPI_Request requests[2 * kMost];

static void work(void) {
  struct timespec now, begin;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 10000000);
}

static void start_messages(int peer, int round) {
  sent[peer] = round * ranks + rank;
  MPI_Isend(&sent[peer], 1, MPI_INT, peer, round, MPI_COMM_WORLD, &requests[2 * peer]);
  MPI_Irecv(&received[peer], 1, MPI_INT, peer, round, MPI_COMM_WORLD, &requests[2 * peer + 1]);
}

static void end_messages(int round) {
  MPI_Status statuses[2 * kMost];
  MPI_Waitall(2 * ranks, requests, statuses);
  for (int i = 0; i < ranks; i++) wrong += received[i] != round * ranks + i;
}

static void note_time(int round) {
  if (round % (rounds / 4) == 0) times[round / (rounds / 4)] = MPI_Wtime();
}

static int arrivals_now(void) {
  if (strcmp(how, "yield") == 0) {
    sched_yield();
  } else if (strcmp(how, "lock") == 0) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  } else if (pthread_mutex_trylock(&mutex) == 0) {
    pthread_mutex_unlock(&mutex);
  }
  return atomic_load(&arrivals);
}

static void barrier(void) {
  const int all = (atomic_fetch_add(&arrivals, 1) / ranks + 1) * ranks;
  while (arrivals_now() < all) continue;
}

static void* spin(void* argument) {
  const int peer = (int)(long)argument;
  for (int round = 0; round < rounds; round++) {
    barrier();
    if (peer == 0) note_time(round);
    start_messages(peer, round);
    barrier();
    if (peer == 0) end_messages(round);
  }
  return NULL;
}

static void* compute(void* argument) {
  const long of = (long)argument;
  start_messages((int)(of % ranks), (int)(of / ranks));
  work();
  return NULL;
}

int main(int argc, char** argv) {
  int provided, all = 0;
  pthread_t threads[kMost];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  how = argv[1];
  rounds = atoi(argv[2]);
  if (strcmp(how, "join") == 0) {
    for (int round = 0; round < rounds; round++) {
      note_time(round);
      for (long i = 0; i < ranks; i++) pthread_create(&threads[i], NULL, compute, (void*)(round * ranks + i));
      for (int i = 0; i < ranks; i++) pthread_join(threads[i], NULL);
      end_messages(round);
    }
  } else {
    for (long i = 0; i < ranks; i++) pthread_create(&threads[i], NULL, spin, (void*)i);
    for (int i = 0; i < ranks; i++) pthread_join(threads[i], NULL);
  }
  note_time(rounds);
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%s %g %g %g\n", all == 0 ? "right" : "wrong", times[1] - times[0], times[2] - times[1],
           times[4] - times[3]);
  MPI_Finalize();
  return 0;
}
