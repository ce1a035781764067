// SPDX-License-Identifier: Apache-2.0
/* Random programs whose threads communicate at once: random_threads SEED COUNT. Program i has the seed SEED + i. Thread t of each
 * rank calls collectives on a communicator of its own, and sends messages on a shared one with a tag of its own. Each thread
 * checks its data. With a third argument, rank 0 prints the virtual time of the end of each thread of each rank; without, the
 * threads of a rank also meet: they spin, calling pthread_mutex_lock, pthread_mutex_trylock or sched_yield. */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, STEPS = 12, MOST = 3000 };

static int rank, ranks, threads, wrong;
static unsigned long long seed;
static MPI_Comm own[THREADS], shared;
static double ended[THREADS];
static int spins, arrivals;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* splitmix64 by S. Vigna. */
static unsigned next(unsigned long long* state, unsigned below) {
  unsigned long long z = *state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return (unsigned)((z ^ z >> 31) % below);
}

static void expect(int right, int thread, int step, const char* what) {
  if (right) return;
  __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
  printf("seed %llu: rank %d thread %d step %d: %s\n", seed, rank, thread, step, what);
}

static int value(int from, int to, int thread, int step, int i) {
  return from * 1000003 + to * 10007 + thread * 1009 + step * 31 + i;
}

/* Each rank exchanges messages with the ranks `by` before and after it, in one of the forms of MPI. */
static void exchange(int thread, int step, int form, int by, int count) {
  const int to = (rank + by) % ranks, from = (rank + ranks - by) % ranks;
  int sent[MOST], received[MOST], flag = 0, seen = 0;
  MPI_Request requests[2];
  MPI_Status status;
  MPI_Message message;
  for (int i = 0; i < count; i++) sent[i] = value(rank, to, thread, step, i);
  memset(received, 0, sizeof received);
  switch (form) {
    case 0:
      MPI_Sendrecv(sent, count, MPI_INT, to, thread, received, count, MPI_INT, from, thread, shared, &status);
      break;
    case 1:
      MPI_Irecv(received, count, MPI_INT, from, thread, shared, &requests[0]);
      MPI_Isend(sent, count, MPI_INT, to, thread, shared, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      break;
    case 2:
      MPI_Isend(sent, count, MPI_INT, to, thread, shared, &requests[1]);
      MPI_Probe(from, thread, shared, &status);
      MPI_Get_count(&status, MPI_INT, &seen);
      expect(seen == count, thread, step, "probe");
      MPI_Recv(received, count, MPI_INT, from, thread, shared, MPI_STATUS_IGNORE);
      MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
      break;
    case 3:
      MPI_Issend(sent, count, MPI_INT, to, thread, shared, &requests[1]);
      MPI_Mprobe(from, thread, shared, &message, MPI_STATUS_IGNORE);
      MPI_Mrecv(received, count, MPI_INT, &message, MPI_STATUS_IGNORE);
      MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
      break;
    case 4:
      MPI_Irecv(received, count, MPI_INT, from, thread, shared, &requests[0]);
      MPI_Isend(sent, count, MPI_INT, to, thread, shared, &requests[1]);
      while (!flag) MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
      break;
    case 5:
      MPI_Recv_init(received, count, MPI_INT, from, thread, shared, &requests[0]);
      MPI_Send_init(sent, count, MPI_INT, to, thread, shared, &requests[1]);
      MPI_Startall(2, requests);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      for (int i = 0; i < 2; i++) MPI_Request_free(&requests[i]);
      break;
    case 6:
      MPI_Isend(sent, count, MPI_INT, to, thread, shared, &requests[1]);
      while (!flag) MPI_Improbe(from, thread, shared, &flag, &message, MPI_STATUS_IGNORE);
      MPI_Imrecv(received, count, MPI_INT, &message, &requests[0]);
      for (int i = 0, done; i < 2; i++) MPI_Waitany(2, requests, &done, MPI_STATUS_IGNORE);
      break;
    default:
      MPI_Isend(sent, count, MPI_INT, to, thread, shared, &requests[1]);
      while (!flag) MPI_Iprobe(from, thread, shared, &flag, MPI_STATUS_IGNORE);
      MPI_Recv(received, count, MPI_INT, from, thread, shared, MPI_STATUS_IGNORE);
      MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < count; i++)
    if (received[i] != value(from, rank, thread, step, i)) return expect(0, thread, step, "message");
}

/* A collective on the thread's communicator. */
static void together(int thread, int step, int form, int root, int count) {
  int sent[MOST] = {0}, received[MOST], first, sum = 0;
  MPI_Comm copy, other;
  MPI_Request requests[4];
  for (int i = 0; i < count; i++) sent[i] = value(rank, 0, thread, step, i), received[i] = sent[i];
  int right = 1;
  switch (form) {
    case 0:
      MPI_Barrier(own[thread]);
      break;
    case 1:
      MPI_Bcast(received, count, MPI_INT, root, own[thread]);
      for (int i = 0; i < count; i++) right &= received[i] == value(root, 0, thread, step, i);
      break;
    case 2:
      MPI_Iallreduce(sent, received, count, MPI_INT, MPI_SUM, own[thread], &requests[0]);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      for (int i = 0; i < count; i++, sum = 0) {
        for (int r = 0; r < ranks; r++) sum += value(r, 0, thread, step, i);
        right &= received[i] == sum;
      }
      break;
    case 3:
      count = count / ranks;
      MPI_Allgather(sent, count, MPI_INT, received, count, MPI_INT, own[thread]);
      for (int r = 0; r < ranks; r++)
        for (int i = 0; i < count; i++) right &= received[r * count + i] == value(r, 0, thread, step, i);
      break;
    case 4:
      MPI_Comm_dup(own[thread], &copy);
      MPI_Allreduce(sent, received, count, MPI_INT, MPI_MAX, copy);
      for (int i = 0; i < count; i++) right &= received[i] == value(ranks - 1, 0, thread, step, i);
      MPI_Comm_free(&copy);
      break;
    case 5: /* duplicates, one of a duplicate, beside other collectives */
      MPI_Comm_idup(own[thread], &copy, &requests[0]);
      MPI_Iallreduce(sent, received, count, MPI_INT, MPI_MAX, own[thread], &requests[1]);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      MPI_Comm_idup(copy, &other, &requests[0]);
      MPI_Iscan(&rank, &sum, 1, MPI_INT, MPI_SUM, copy, &requests[2]);
      MPI_Ibarrier(own[thread], &requests[3]);
      MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
      right = sum == rank * (rank + 1) / 2;
      for (int i = 0; i < count; i++) right &= received[i] == value(ranks - 1, 0, thread, step, i);
      first = rank;
      MPI_Bcast(&first, 1, MPI_INT, root, other);
      right &= first == root;
      MPI_Comm_free(&copy);
      MPI_Comm_free(&other);
      break;
    case 6: /* the even ranks and the odd ranks */
      MPI_Comm_split(own[thread], rank % 2, rank, &copy);
      MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copy);
      for (int r = rank % 2; r < ranks; r += 2) sum -= r;
      right = sum == 0;
      MPI_Comm_free(&copy);
      break;
    case 7:
      count = count / ranks;
      for (int i = 0; i < count * ranks; i++) sent[i] = value(rank, i / (count ? count : 1), thread, step, i);
      MPI_Ialltoall(sent, count, MPI_INT, received, count, MPI_INT, own[thread], &requests[0]);
      MPI_Ibarrier(own[thread], &requests[1]);
      for (int i = 0, done; i < 2; i++) MPI_Waitany(2, requests, &done, MPI_STATUS_IGNORE);
      for (int r = 0; r < ranks; r++)
        for (int i = 0; i < count; i++)
          right &= received[r * count + i] == value(r, rank, thread, step, rank * count + i);
      break;
    default:
      MPI_Allreduce(sent, received, count, MPI_INT, MPI_MIN, own[thread]);
      for (int i = 0; i < count; i++) right &= received[i] == value(0, 0, thread, step, i);
  }
  expect(right, thread, step, "collective");
}

/* `arrivals` plus `by`. */
static int arrive(int form, int by) {
  switch (form) {
    case 0:
      pthread_mutex_lock(&mutex);
      break;
    case 1:
      while (pthread_mutex_trylock(&mutex) != 0) continue;
      break;
    default:
      sched_yield();
      return __atomic_add_fetch(&arrivals, by, __ATOMIC_SEQ_CST);
  }
  const int now = __atomic_add_fetch(&arrivals, by, __ATOMIC_SEQ_CST);
  pthread_mutex_unlock(&mutex);
  return now;
}

/* In some steps the threads of a rank wait for each other. */
static void meet(int step) {
  unsigned long long state = seed * 1000 + 500 + step;
  const int form = next(&state, 6);
  if (!spins || form > 2) return;
  const int all = ((arrive(form, 1) - 1) / threads + 1) * threads;
  while (arrive(form, 0) < all) continue;
}

static void* work(void* argument) {
  const int thread = *(const int*)argument;
  unsigned long long state = seed * 1000 + thread; /* the same on all ranks */
  unsigned long long mine = state + 100 * (rank + 1);
  for (int step = 0; step < STEPS; step++) {
    const int kind = next(&state, 3), form = next(&state, 40), by = next(&state, ranks);
    const int count = next(&state, 2) ? next(&state, 20) : next(&state, MOST);
    volatile double x = 1;
    meet(step);
    for (unsigned i = next(&mine, 5) ? 0 : next(&mine, 300000); i > 0; i--) x = x * 1.0000001;
    if (kind)
      exchange(thread, step, form % 8, by, count);
    else
      together(thread, step, form % 9, by, count);
  }
  ended[thread] = MPI_Wtime();
  return NULL;
}

int main(int argc, char** argv) {
  int provided, all = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 3 || provided != MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 3);
  const int count = atoi(argv[2]);
  spins = argc == 3;
  MPI_Comm_dup(MPI_COMM_WORLD, &shared);
  for (int t = 0; t < THREADS; t++) MPI_Comm_dup(MPI_COMM_WORLD, &own[t]);
  for (int program = 0; program < count; program++) {
    pthread_t started[THREADS];
    int number[THREADS] = {0, 1, 2, 3};
    double times[THREADS * 64];
    seed = strtoull(argv[1], NULL, 10) + program;
    unsigned long long state = seed;
    threads = 2 + next(&state, THREADS - 1);
    arrivals = 0;
    const int main_too = next(&state, 2); /* the main thread works, too, or only waits */
    for (int t = main_too; t < threads; t++) pthread_create(&started[t], NULL, work, &number[t]);
    if (main_too) work(&number[0]);
    for (int t = main_too; t < threads; t++) pthread_join(started[t], NULL);
    MPI_Gather(ended, THREADS, MPI_DOUBLE, times, THREADS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int r = 0; r < ranks && rank == 0 && argc > 3; r++)
      for (int t = 0; t < threads; t++) printf("%llu %d %d %.9f\n", seed, r, t, times[r * THREADS + t]);
  }
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf(all == 0 ? "%d programs are right\n" : "%d programs, some wrong\n", count);
  for (int t = 0; t < THREADS; t++) MPI_Comm_free(&own[t]);
  MPI_Comm_free(&shared);
  MPI_Finalize();
  return all != 0;
}
