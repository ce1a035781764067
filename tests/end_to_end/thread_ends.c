// SPDX-License-Identifier: Apache-2.0
/* Threads that end, or whose process ends, in a way that the argument names. Rank 0 prints "right" if the program ends as it
 * should; each thread checks its sums. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4 };

static int rank, ranks, done;
static MPI_Comm own[THREADS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t all;

static void sum(long thread) {
  int value = rank + thread;
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, own[thread % THREADS]);
  if (value != ranks * (ranks - 1) / 2 + ranks * thread) printf("thread %ld: wrong sum\n", thread), exit(9);
}

static void* ends_by_exit(void* thread) {
  sum((long)thread);
  pthread_exit(thread);
}

static void* tells_its_end(void* thread) {
  sum((long)thread);
  pthread_mutex_lock(&lock);
  done++;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  return thread;
}

static void wait_for_ends(int count) {
  pthread_mutex_lock(&lock);
  while (done < count) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

static void* creates(void* thread) {
  pthread_t child;
  const long number = (long)thread;
  if (number + 1 < THREADS) pthread_create(&child, NULL, creates, (void*)(number + 1));
  sum(number);
  if (number + 1 < THREADS) pthread_join(child, NULL);
  return thread;
}

static void* receives(void* unused) {
  int value;
  MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 7, own[0], MPI_STATUS_IGNORE);
  return unused;
}

static void* exits(void* unused) {
  return sum(1), exit(5), unused;
}
static void* exits_at_once(void* unused) {
  return sum(1), _exit(5), unused;
}
static void* aborts(void* unused) {
  return sum(1), MPI_Abort(MPI_COMM_WORLD, 6), unused;
}
static void* crashes(void* unused) {
  return sum(1), abort(), unused;
}
static void* computes(void* unused) {
  volatile double x = 1;
  for (int i = 0; i < 100000000; i++) x = x * 1.0000001;
  return unused;
}

static void* finalizes(void* unused) {
  sum(1);
  MPI_Finalize();
  if (rank == 0) printf("right\n");
  return unused;
}

/* Exchanges a message with a tag of the thread's own, when all threads exist. */
static void* exchanges(void* thread) {
  const int tag = (int)(long)thread;
  int value;
  pthread_barrier_wait(&all);
  MPI_Send(&rank, 1, MPI_INT, (rank + 1) % ranks, tag, MPI_COMM_WORLD);
  MPI_Recv(&value, 1, MPI_INT, (rank + ranks - 1) % ranks, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return thread;
}

static void* uses_one_communicator(void* thread) {
  for (int i = 0; i < 20; i++) sum(0);
  return thread;
}

static void* calls_another_collective(void* thread) {
  int value = 0;
  for (int i = 0; i < 20; i++) thread ? MPI_Bcast(&value, 1, MPI_INT, 0, own[0]) : MPI_Barrier(own[0]);
  return thread;
}

static void create_and_join(int count, void* work(void*)) {
  pthread_t threads[300];
  pthread_barrier_init(&all, NULL, count);
  for (long i = 0; i < count; i++) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

int main(int argc, char** argv) {
  int level;
  pthread_t thread;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < THREADS; i++) MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
  const char* how = argv[1];
  void* (*const endings[])(void*) = {exits, exits_at_once, aborts, crashes};
  const char* names[] = {"exit in a thread", "_exit in a thread", "MPI_Abort in a thread", "crash of a thread"};
  for (int i = 0; i < 4; i++) {
    if (strcmp(how, names[i]) != 0) continue;
    rank == 1 ? pthread_create(&thread, NULL, endings[i], NULL) : (sum(1), 0);
    receives(NULL);
  }
  if (strcmp(how, "pthread_exit") == 0) {
    create_and_join(THREADS, ends_by_exit);
  } else if (strcmp(how, "detached threads") == 0) {
    for (int turn = 1; turn <= 10; turn++) {
      for (long i = 0; i < THREADS; i++)
        if (pthread_create(&thread, NULL, tells_its_end, (void*)i) == 0) pthread_detach(thread);
      wait_for_ends(THREADS * turn);
    }
  } else if (strcmp(how, "threads of threads") == 0) {
    create_and_join(1, creates);
  } else if (strcmp(how, "threads in turn") == 0) {
    for (int turn = 0; turn < 6; turn++) create_and_join(50, exchanges);
  } else if (strcmp(how, "too many threads") == 0) {
    create_and_join(300, exchanges);
  } else if (strcmp(how, "one communicator") == 0) {
    create_and_join(2, uses_one_communicator);
  } else if (strcmp(how, "different collectives") == 0) {
    create_and_join(2, calls_another_collective);
  } else if (strcmp(how, "end of the first thread") == 0) {
    pthread_create(&thread, NULL, tells_its_end, (void*)1);
    pthread_exit(NULL);
  } else if (strcmp(how, "MPI_Finalize by another thread") == 0) {
    pthread_create(&thread, NULL, finalizes, NULL);
    pthread_exit(NULL);
  } else if (strcmp(how, "exit beside a thread") == 0) {
    pthread_create(&thread, NULL, receives, NULL);
    sum(1);
    if (rank == 1) exit(3);
    sum(1);
  } else if (strcmp(how, "MPI_Finalize beside a waiting thread") == 0) {
    pthread_create(&thread, NULL, receives, NULL);
    sum(1);
  } else if (strcmp(how, "MPI_Finalize beside a running thread") == 0) {
    pthread_create(&thread, NULL, computes, NULL);
    sum(1);
  }
  MPI_Finalize();
  if (strcmp(how, "MPI_Finalize beside a running thread") == 0) pthread_join(thread, NULL);
  if (rank == 0) printf("right\n");
  return 0;
}
