// SPDX-License-Identifier: Apache-2.0
/* Two threads that call MPI in turn, each on its own communicators; the order differs between ranks. */
#include <pthread.h>
#include <stddef.h>

#include "rules.h"

enum { ROUNDS = 3, THREADS = 2 };

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t passed = PTHREAD_COND_INITIALIZER;
static int whose;

struct work {
  int thread;
  MPI_Comm parent;
  MPI_Comm copies[ROUNDS];
  int sums[ROUNDS], from_left[ROUNDS];
};

/* Waits for its turn; end_turn passes it to the other thread. */
static void begin_turn(int thread) {
  pthread_mutex_lock(&turn);
  while (whose != thread) pthread_cond_wait(&passed, &turn);
}
static void end_turn(int thread) {
  whose = !thread;
  pthread_cond_signal(&passed);
  pthread_mutex_unlock(&turn);
}

/* Between two calls of MPI the other thread has its turn. A thread that is done passes its turns on. */
static void complete(int thread, int count, MPI_Request* requests) {
  for (int done = 0; !done;) {
    begin_turn(thread);
    MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE);
    end_turn(thread);
  }
}

static int at_work;

static void* work(void* given) {
  struct work* w = given;
  for (int round = 0; round < ROUNDS; round++) {
    MPI_Request requests[3];
    int own = 100 * w->thread + 10 * round + rank;
    begin_turn(w->thread);
    MPI_Comm_idup(w->parent, &w->copies[round], &requests[0]);
    end_turn(w->thread);
    complete(w->thread, 1, requests);
    begin_turn(w->thread);
    MPI_Iallreduce(&own, &w->sums[round], 1, MPI_INT, MPI_SUM, w->copies[round], &requests[0]);
    end_turn(w->thread);
    begin_turn(w->thread);
    MPI_Irecv(&w->from_left[round], 1, MPI_INT, (rank + ranks - 1) % ranks, 1, w->copies[round], &requests[1]);
    MPI_Isend(&own, 1, MPI_INT, (rank + 1) % ranks, 1, w->copies[round], &requests[2]);
    end_turn(w->thread);
    complete(w->thread, 3, requests);
  }
  begin_turn(w->thread);
  at_work -= 1;
  for (;;) {
    const int left = at_work;
    end_turn(w->thread);
    if (left == 0) return NULL;
    begin_turn(w->thread);
  }
}

static void in_turns(void) {
  struct work works[THREADS] = {{.thread = 0, .parent = copy_of_world()}, {.thread = 1, .parent = copy_of_world()}};
  pthread_t other;
  whose = otherwise();
  at_work = THREADS;
  pthread_create(&other, NULL, work, &works[1]);
  work(&works[0]);
  pthread_join(other, NULL);
  for (int t = 0; t < THREADS; t++)
    for (int round = 0; round < ROUNDS; round++) {
      say("thread %d: sum %d, from the left %d", t, works[t].sums[round], works[t].from_left[round]);
      show("copy", works[t].copies[round], 10 * t + round);
    }
  for (int t = 0; t < THREADS; t++) {
    free_all(ROUNDS, works[t].copies);
    MPI_Comm_free(&works[t].parent);
  }
}

static void* copy_in_thread(void* given) {
  MPI_Comm* comms = given;
  MPI_Comm_dup(comms[0], &comms[1]);
  return NULL;
}

/* Each copy is created by a thread of its own, one after the other. */
static void a_thread_for_each_copy(void) {
  MPI_Comm comms[2][2] = {{copy_of_world()}, {copy_of_world()}};
  for (int i = 0; i < 2; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, copy_in_thread, comms[i]);
    pthread_join(thread, NULL);
  }
  for (int i = 0; i < 2; i++) show("copy", comms[i][1], 20 + i);
  for (int i = 0; i < 2; i++) free_all(2, comms[i]);
}

const struct rule threads[] = {{"threads-in-turns", in_turns}, {"a-thread-for-each-copy", a_thread_for_each_copy}, {0}};
