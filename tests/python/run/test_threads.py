# SPDX-License-Identifier: Apache-2.0
"""Programs with MPI_THREAD_MULTIPLE: do threads get the right data at the right virtual times, and is a deadlock of
threads reported?"""

from __future__ import annotations

import pytest
from programs import Thalweg as Program

BEGIN = """
#define _GNU_SOURCE
#include <pthread.h>
#include <threads.h>
static MPI_Comm own[4];
static void begin_threads(int* c, char*** v) {
  int level;
  MPI_Init_thread(c, v, MPI_THREAD_MULTIPLE, &level);
  CHECK(level == MPI_THREAD_MULTIPLE);
  MPI_Query_thread(&level);
  CHECK(level == MPI_THREAD_MULTIPLE);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < 4; i++) MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
}
/* Each thread computes a sum over the ranks and passes a token round them. */
static void communicate(int thread) {
  int sum = rank + thread, token = rank == 0 ? 100 * thread : -1;
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, own[thread]);
  CHECK(sum == ranks * (ranks - 1) / 2 + ranks * thread);
  if (rank > 0) MPI_Recv(&token, 1, MPI_INT, rank - 1, thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(&(int){token + 1}, 1, MPI_INT, (rank + 1) % ranks, thread, MPI_COMM_WORLD);
  if (rank == 0) MPI_Recv(&token, 1, MPI_INT, ranks - 1, thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(token == 100 * thread + (rank == 0 ? ranks : rank));
}
static void* posix(void* thread) { return communicate((int)(long)thread), NULL; }
static int standard(void* thread) { return communicate((int)(long)thread), 0; }
"""

POSIX = """
pthread_t started[4];
for (long i = 0; i < 4; i++) pthread_create(&started[i], NULL, posix, (void*)i);
for (int i = 0; i < 4; i++) pthread_join(started[i], NULL);"""
STANDARD = """
thrd_t started[4];
for (long i = 0; i < 4; i++) thrd_create(&started[i], standard, (void*)i);
for (int i = 0; i < 4; i++) thrd_join(started[i], NULL);"""
OPENMP = """
int sum = 0;
_Pragma("omp parallel for num_threads(4) reduction(+:sum)")
for (int i = 0; i < 1000; i++) sum += i;
CHECK(sum == 499500);
for (int turn = 0; turn < 3; turn++) {
  _Pragma("omp parallel for num_threads(4) schedule(static, 1)")
  for (int i = 0; i < 4; i++) communicate(i);
}"""
CONDITIONS = """
/* Threads only take turns: each waits until its predecessor has communicated. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;
static void* in_turn(void* thread) {
  for (int round = 0; round < 3; round++) {
    pthread_mutex_lock(&lock);
    while (turn % 4 != (int)(long)thread) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    communicate((int)(long)thread);
    pthread_mutex_lock(&lock);
    turn++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}"""


def program(body: str, before: str = "") -> str:
    return f"{BEGIN}{before}int main(int c, char** v) {{ begin_threads(&c, &v); {body} return end(); }}"


@pytest.mark.sample(4)
@pytest.mark.parametrize("compute", ["none", "measured"])
@pytest.mark.parametrize(
    ("body", "before"),
    [
        pytest.param(POSIX, "", id="posix"),
        pytest.param(STANDARD, "", id="standard"),
        pytest.param(OPENMP, "", id="openmp"),
        pytest.param(POSIX.replace("posix", "in_turn"), CONDITIONS, id="conditions"),
    ],
)
def test_threads_communicate_at_once(run_program: Program, body: str, before: str, compute: str) -> None:
    text = program(body, before)
    runs = [run_program(text, 3, "--compute", compute, "--timeout", "60", flags=("-fopenmp",)) for _ in range(2)]
    for run in runs:
        assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr
    if compute == "none":
        assert runs[0].report == runs[1].report


def test_a_thread_starts_at_its_creator_s_time_and_is_joined_at_its_end(run_program: Program) -> None:
    """Rank 1's thread receives what rank 0 sends after the first thread has waited 1 ms of virtual time."""
    body = """
    double before, inside[2], after;
    void* receive(void* x) {
      inside[0] = MPI_Wtime();
      if (rank == 1) MPI_Recv(&c, 1, MPI_INT, 0, 0, own[0], MPI_STATUS_IGNORE);
      inside[1] = MPI_Wtime();
      return NULL;
    }
    pthread_t started;
    for (const double begin = MPI_Wtime(); rank == 0 && MPI_Wtime() < begin + 1e-3;);
    before = MPI_Wtime();
    if (rank == 0) MPI_Send(&c, 1, MPI_INT, 1, 0, own[0]);
    pthread_create(&started, NULL, receive, NULL);
    pthread_join(started, NULL);
    after = MPI_Wtime();
    CHECK(before < inside[0] && inside[0] < inside[1] && inside[1] < after);
    CHECK(rank != 1 || inside[1] > 1e-3);
    CHECK(after - inside[1] < 1e-6);"""
    run = run_program(program(body), 2, "--timeout", "60")
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr


@pytest.mark.sample(2)
def test_time_waits_for_threads_that_are_seen_asleep_or_start_late(run_program: Program) -> None:
    """Rank 0's first thread sleeps for moments more than two seconds apart, and waits for another one between them. Then
    it creates a thread that has not started when it is sampled. Rank 1's message, sent at 1 ms, arrives after that."""
    before = """
    #include <dlfcn.h>
    #include <time.h>
    #include <unistd.h>
    static volatile int late;
    /* Called by each thread of the interposer before it begins. */
    int pthread_setspecific(pthread_key_t key, const void* value) {
      if (late) usleep(50000);
      return ((int (*)(pthread_key_t, const void*))dlsym(RTLD_NEXT, "pthread_setspecific"))(key, value);
    }
    static void compute(double seconds) {
      struct timespec used = {0};
      while (used.tv_sec + 1e-9 * used.tv_nsec < seconds) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    }
    static void* receive(void* x) { return MPI_Recv(x, 1, MPI_INT, 1, 9, own[0], MPI_STATUS_IGNORE), NULL; }
    static void* compute_long(void* x) { return compute(1.1), MPI_Wtime(), compute(2.2), NULL; }
    static void* compute_late(void* x) { return compute(0.1), *(double*)x = MPI_Wtime(), NULL; }"""
    body = """
    if (rank == 1) {
      while (MPI_Wtime() < 1e-3);
      MPI_Send(&c, 1, MPI_INT, 0, 9, own[0]);
      return end();
    }
    pthread_t waits, works;
    double now;
    pthread_create(&waits, NULL, receive, &c);
    pthread_create(&works, NULL, compute_long, NULL);
    usleep(50000);
    pthread_join(works, NULL);
    usleep(50000);
    CHECK(MPI_Wtime() < 1e-3);
    late = 1;
    pthread_create(&works, NULL, compute_late, &now);
    pthread_join(works, NULL);
    CHECK(now < 1e-3);
    pthread_join(waits, NULL);
    CHECK(MPI_Wtime() > 1e-3);"""
    run = run_program(program(body, before), 2, "--timeout", "60", flags=("-rdynamic",))
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr


@pytest.mark.sample(2)
def test_a_thread_that_spins_holds_up_nobody_for_ever(run_program: Program) -> None:
    """Rank 0's thread waits without a call for a variable that the first thread sets after a message of rank 1."""
    spin = "static volatile int set; static void* spin(void* x) { while (!set); communicate(0); return NULL; }"
    body = """
    pthread_t started;
    if (rank == 1) MPI_Send(&c, 1, MPI_INT, 0, 9, own[1]);
    if (rank == 0) pthread_create(&started, NULL, spin, NULL);
    if (rank == 0) MPI_Recv(&c, 1, MPI_INT, 1, 9, own[1], MPI_STATUS_IGNORE);
    set = 1;
    if (rank == 0) pthread_join(started, NULL); else communicate(0);"""
    run = run_program(program(body, spin), 2, "--timeout", "60")
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr


def test_a_deadlock_of_threads_names_rank_and_thread(run_program: Program) -> None:
    wait = """static void* wait_for(void* from) {
      MPI_Recv(&(int){0}, 1, MPI_INT, 1 - rank, (int)(long)from, own[0], MPI_STATUS_IGNORE);
      return NULL;
    }"""
    body = """
    pthread_t started[2];
    for (long i = 0; i < 2; i++) pthread_create(&started[i], NULL, wait_for, (void*)(5 + i));
    if (rank == 0) MPI_Send(&c, 1, MPI_INT, 1, 6, own[0]);
    for (int i = 0; i < 2; i++) pthread_join(started[i], NULL);"""
    run = run_program(program(body, wait), 2, "--timeout", "60")
    assert run.exit_code == 124, run.stdout + run.stderr
    for thread, what in [
        ("rank 0, thread 0", "outside MPI, waits for the end of thread 1"),
        ("rank 0, thread 1", "in MPI_Recv, waits for a message from rank 1, tag 5 on MPI_Comm_dup"),
        ("rank 0, thread 2", "in MPI_Recv, waits for a message from rank 1, tag 6 on MPI_Comm_dup"),
        ("rank 1, thread 1", "in MPI_Recv, waits for a message from rank 0, tag 5 on MPI_Comm_dup"),
    ]:
        assert f"{thread}: {what}" in run.stderr, run.stderr
    assert "rank 1, thread 2: in MPI_Recv" not in run.stderr
    assert "deadlock" in run.stderr


def test_a_level_that_the_library_lacks_is_named(run_program: Program) -> None:
    text = """
    int PMPI_Init_thread(int* c, char*** v, int wanted, int* level) {
      *level = MPI_THREAD_SERIALIZED;
      return PMPI_Init(c, v);
    }
    int main(int c, char** v) {
      int level;
      MPI_Init_thread(&c, &v, MPI_THREAD_MULTIPLE, &level);
      if (level != MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 3);
    }"""
    run = run_program(text, 2, "--timeout", "60")
    assert run.exit_code == 3
    assert "asked for MPI_THREAD_MULTIPLE, but its MPI library only provides MPI_THREAD_SERIALIZED" in run.stderr
