// SPDX-License-Identifier: Apache-2.0
/* thread_wakers WHO: a thread of each rank sleeps outside MPI until WHO wakes it after a second; then it sends what another
 * thread waits for. All other threads wait meanwhile. With WHO "nobody" the program is deadlocked. With "pipe" the two
 * threads take turns: the receiver wakes the sleeper by a pipe; with "poll" the sleeper polls with short sleeps. */
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static sem_t own, *shared;
static const char* who;
static int rank, ranks, rounds = 1, polls, ends[2];

static void handle(int signal) {
  (void)signal;
  sem_post(&own);
}

static void notify(union sigval value) {
  (void)value;
  sem_post(&own);
}

static void* waker(void* argument) {
  sleep(1);
  sem_post(&own);
  return argument;
}

static void await(void) {
  char byte;
  if (polls)
    while (sem_trywait(&own) != 0) usleep(100);
  else if (ends[0] != 0)
    while (read(ends[0], &byte, 1) != 1) continue;
  else
    while (sem_wait(shared != NULL ? shared : &own) != 0) continue;
}

static void* sleeper(void* argument) {
  for (int i = 0; i < rounds; i++) {
    await();
    MPI_Send(&rank, 1, MPI_INT, (rank + 1) % ranks, 0, MPI_COMM_WORLD);
  }
  return argument;
}

static void* receiver(void* argument) {
  for (int i = 0; i < rounds; i++) {
    MPI_Recv(argument, 1, MPI_INT, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (polls) sem_post(&own);
    if (ends[1] != 0 && write(ends[1], "", 1) != 1) MPI_Abort(MPI_COMM_WORLD, 2);
  }
  return NULL;
}

static void prepare(void) {
  if (strcmp(who, "process") == 0) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sem_init(shared, 1, 0);
    if (fork() != 0) return;
    sleep(1);
    sem_post(shared);
    _exit(0);
  } else if (strcmp(who, "signal") == 0) {
    signal(SIGALRM, handle);
    alarm(1);
  } else if (strcmp(who, "timer") == 0) {
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = notify};
    struct itimerspec second = {.it_value = {.tv_sec = 1}};
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &second, NULL);
  } else if (strcmp(who, "pipe") == 0) {
    rounds = 40;
    if (pipe(ends) != 0 || write(ends[1], "", 1) != 1) MPI_Abort(MPI_COMM_WORLD, 2);
  } else if (strcmp(who, "poll") == 0) {
    polls = 1;
    if (rank == 0) sem_post(&own);
  } else if (strcmp(who, "thread") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, waker, NULL);
    pthread_detach(thread);
  }
}

int main(int argc, char** argv) {
  int provided, received = -1;
  pthread_t threads[2];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  who = argv[1];
  sem_init(&own, 0, 0);
  prepare();
  pthread_create(&threads[0], NULL, sleeper, NULL);
  pthread_create(&threads[1], NULL, receiver, &received);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  if (shared != NULL) wait(NULL);
  int right = received == (rank + ranks - 1) % ranks, all = 0;
  MPI_Reduce(&right, &all, 1, MPI_INT, MPI_LAND, 0, MPI_COMM_WORLD);
  if (rank == 0) puts(all ? "right" : "wrong");
  MPI_Finalize();
  return 0;
}
