// SPDX-License-Identifier: Apache-2.0
/* Random MPI programs, one after another: random_programs SEED COUNT. Program i is that of seed SEED + i.
 *
 * All ranks draw the same script: communicators split, copied and freed, every collective of MPI on them, blocking,
 * non-blocking and persistent, many in flight, while each rank has a random delay. All members of the script's
 * communicators take part, so that a communicator stands for all the parts that a split created. A wrong result ends
 * the run with the program's seed. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 64, MOST_COMMUNICATORS = 12, MOST_TASKS = 24, STEPS = 16 };

enum kind {
  BARRIER,
  BCAST,
  REDUCE,
  ALLREDUCE,
  GATHER,
  ALLGATHER,
  SCATTER,
  ALLTOALL,
  SCAN,
  EXSCAN,
  REDUCE_SCATTER_BLOCK,
  REDUCE_SCATTER,
  GATHERV,
  SCATTERV,
  ALLGATHERV,
  ALLTOALLV,
  ALLTOALLW,
  KINDS
};
enum form { BLOCKING, NON_BLOCKING, PERSISTENT, FORMS };

struct communicator {
  MPI_Comm comm; /* MPI_COMM_NULL if this rank is in no part */
  int open, size, me;
  int members[MOST_RANKS]; /* ranks of the world */
};

/* A collective in flight, with everything that its result depends on. */
struct task {
  MPI_Request request;
  enum kind kind;
  int persistent, size, me, root, count, members[MOST_RANKS];
  uint32_t tag;
  int *send, *receive;
  int send_counts[MOST_RANKS], send_places[MOST_RANKS], counts[MOST_RANKS], places[MOST_RANKS];
  MPI_Datatype types[MOST_RANKS];
};

static int rank, ranks;
static uint32_t program, state;
static struct communicator pool[MOST_COMMUNICATORS];
static struct task tasks[MOST_TASKS];
static int under_way;

static uint32_t mix(uint32_t a, uint32_t b) {
  uint32_t x = a * 0x9e3779b9u ^ (b + 0x7f4a7c15u) * 0x85ebca6bu;
  x = (x ^ x >> 15) * 0x2c1b3c6du;
  x = (x ^ x >> 12) * 0x297a2d39u;
  return x ^ x >> 15;
}
static uint32_t draw(uint32_t below) {
  state = mix(state, 1);
  return state % below;
}

static void fail(const char* what, enum kind kind) {
  printf("program %u, rank %d: wrong %s, kind %d\n", program, rank, what, kind);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

/* Element k that rank `from` has for rank `to` (ranks of the world; -1: for all). */
static int element(uint32_t tag, int from, int to, int k) {
  return (int)(mix(mix(tag, (uint32_t)(from * 100 + to)), (uint32_t)k) % 2001) - 1000;
}
static int block_count(const struct task* task, int from, int to) {
  const uint32_t x = mix(task->tag, (uint32_t)(from * 1000 + to));
  return x % 4 == 0 ? 0 : (int)(x / 4 % (uint32_t)(task->count + 1));
}
static int reduced(const struct task* task, int first, int last, int k) {
  int sum = 0;
  for (int i = first; i < last; i++) sum += element(task->tag, task->members[i], -1, k);
  return sum;
}

static int prefix(const int* counts, int size, int* places) {
  int sum = 0;
  for (int i = 0; i < size; i++) {
    places[i] = sum;
    sum += counts[i];
  }
  return sum;
}

static void fill(struct task* task) {
  const int n = task->size, me = task->me, own = task->members[me], root = task->root, c = task->count;
  int given = c, to_each = 0;
  for (int i = 0; i < n; i++) {
    const int other = task->members[i];
    task->types[i] = MPI_INT;
    task->send_counts[i] = task->counts[i] = c;
    if (task->kind == ALLTOALLV || task->kind == ALLTOALLW) {
      task->send_counts[i] = block_count(task, own, other);
      task->counts[i] = block_count(task, other, own);
    } else if (task->kind >= REDUCE_SCATTER) {
      task->send_counts[i] = task->counts[i] = block_count(task, other, -1);
    }
  }
  const int taken = prefix(task->counts, n, task->places), sum = prefix(task->send_counts, n, task->send_places);
  switch (task->kind) {
    case SCATTER:
    case SCATTERV:
    case ALLTOALL:
    case ALLTOALLV:
    case ALLTOALLW:
      given = sum;
      to_each = 1;
      break;
    case REDUCE_SCATTER_BLOCK:
    case REDUCE_SCATTER:
      given = sum;
      break;
    case GATHERV:
    case ALLGATHERV:
      given = task->send_counts[me];
      break;
    default:
      break;
  }
  const int room = (taken > given ? taken : given) + n * c + 1;
  task->send = malloc((size_t)room * sizeof(int));
  task->receive = malloc((size_t)room * sizeof(int));
  for (int k = 0; k < room; k++) task->receive[k] = task->send[k] = 1 << 20;
  if (to_each)
    for (int i = 0; i < n; i++)
      for (int k = 0; k < task->send_counts[i]; k++)
        task->send[task->send_places[i] + k] = element(task->tag, own, task->members[i], k);
  else
    for (int k = 0; k < given; k++) task->send[k] = element(task->tag, own, -1, k);
  if (task->kind == BCAST && me == root) memcpy(task->receive, task->send, (size_t)c * sizeof(int));
  for (int i = 0; task->kind == ALLTOALLW && i < n; i++) {
    task->send_places[i] *= (int)sizeof(int);
    task->places[i] *= (int)sizeof(int);
  }
}

static void check_blocks(const struct task* task, int to) {
  for (int i = 0; i < task->size; i++) {
    const int at = task->kind == ALLTOALLW ? task->places[i] / (int)sizeof(int) : task->places[i];
    for (int k = 0; k < task->counts[i]; k++)
      if (task->receive[at + k] != element(task->tag, task->members[i], to, k)) fail("block", task->kind);
  }
}
static void check_reduced(const struct task* task, int first, int last, int from, int count) {
  for (int k = 0; k < count; k++)
    if (task->receive[k] != reduced(task, first, last, from + k)) fail("sum", task->kind);
}

static void check(const struct task* task) {
  const int n = task->size, me = task->me, own = task->members[me], c = task->count;
  switch (task->kind) {
    case BCAST:
      for (int k = 0; k < c; k++)
        if (task->receive[k] != element(task->tag, task->members[task->root], -1, k)) fail("broadcast", BCAST);
      break;
    case REDUCE:
      if (me != task->root) break; /* fall through */
    case ALLREDUCE:
      check_reduced(task, 0, n, 0, c);
      break;
    case SCAN:
      check_reduced(task, 0, me + 1, 0, c);
      break;
    case EXSCAN:
      if (me > 0) check_reduced(task, 0, me, 0, c);
      break;
    case REDUCE_SCATTER_BLOCK:
    case REDUCE_SCATTER:
      check_reduced(task, 0, n, task->places[me], task->counts[me]);
      break;
    case GATHER:
    case GATHERV:
      if (me != task->root) break; /* fall through */
    case ALLGATHER:
    case ALLGATHERV:
      check_blocks(task, -1);
      break;
    case SCATTER:
    case SCATTERV:
      for (int k = 0; k < task->counts[me]; k++)
        if (task->receive[k] != element(task->tag, task->members[task->root], own, k)) fail("scatter", task->kind);
      break;
    case ALLTOALL:
    case ALLTOALLV:
    case ALLTOALLW:
      check_blocks(task, own);
      break;
    default:
      break;
  }
}

#define CALL(Name, name, ...)                                     \
  (form == BLOCKING       ? MPI_##Name(__VA_ARGS__)               \
   : form == NON_BLOCKING ? MPI_I##name(__VA_ARGS__, &t->request) \
                          : MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &t->request))

static void call(struct task* t, MPI_Comm comm, enum form form) {
  const int c = t->count, root = t->root;
  int *s = t->send, *r = t->receive;
  switch (t->kind) {
    case BARRIER:
      CALL(Barrier, barrier, comm);
      break;
    case BCAST:
      CALL(Bcast, bcast, r, c, MPI_INT, root, comm);
      break;
    case REDUCE:
      CALL(Reduce, reduce, s, r, c, MPI_INT, MPI_SUM, root, comm);
      break;
    case ALLREDUCE:
      CALL(Allreduce, allreduce, s, r, c, MPI_INT, MPI_SUM, comm);
      break;
    case GATHER:
      CALL(Gather, gather, s, c, MPI_INT, r, c, MPI_INT, root, comm);
      break;
    case ALLGATHER:
      CALL(Allgather, allgather, s, c, MPI_INT, r, c, MPI_INT, comm);
      break;
    case SCATTER:
      CALL(Scatter, scatter, s, c, MPI_INT, r, c, MPI_INT, root, comm);
      break;
    case ALLTOALL:
      CALL(Alltoall, alltoall, s, c, MPI_INT, r, c, MPI_INT, comm);
      break;
    case SCAN:
      CALL(Scan, scan, s, r, c, MPI_INT, MPI_SUM, comm);
      break;
    case EXSCAN:
      CALL(Exscan, exscan, s, r, c, MPI_INT, MPI_SUM, comm);
      break;
    case REDUCE_SCATTER_BLOCK:
      CALL(Reduce_scatter_block, reduce_scatter_block, s, r, c, MPI_INT, MPI_SUM, comm);
      break;
    case REDUCE_SCATTER:
      CALL(Reduce_scatter, reduce_scatter, s, r, t->counts, MPI_INT, MPI_SUM, comm);
      break;
    case GATHERV:
      CALL(Gatherv, gatherv, s, t->counts[t->me], MPI_INT, r, t->counts, t->places, MPI_INT, root, comm);
      break;
    case SCATTERV:
      CALL(Scatterv, scatterv, s, t->send_counts, t->send_places, MPI_INT, r, t->counts[t->me], MPI_INT, root, comm);
      break;
    case ALLGATHERV:
      CALL(Allgatherv, allgatherv, s, t->counts[t->me], MPI_INT, r, t->counts, t->places, MPI_INT, comm);
      break;
    case ALLTOALLV:
      CALL(Alltoallv, alltoallv, s, t->send_counts, t->send_places, MPI_INT, r, t->counts, t->places, MPI_INT, comm);
      break;
    default:
      CALL(Alltoallw, alltoallw, s, t->send_counts, t->send_places, t->types, r, t->counts, t->places, t->types, comm);
  }
  if (form == PERSISTENT) MPI_Start(&t->request);
}

static void end_task(struct task* task) {
  check(task);
  if (task->persistent) MPI_Request_free(&task->request);
  free(task->send);
  free(task->receive);
}

/* Completes all operations in flight, in one of several ways. */
static void complete(uint32_t way) {
  MPI_Request requests[MOST_TASKS];
  for (int i = 0; i < under_way; i++) requests[i] = tasks[i].request;
  if (way == 0) {
    MPI_Waitall(under_way, requests, MPI_STATUSES_IGNORE);
  } else if (way == 1) {
    for (int i = 0, index; i < under_way; i++) MPI_Waitany(under_way, requests, &index, MPI_STATUS_IGNORE);
  } else if (way == 2) {
    for (int i = 0, flag; i < under_way; i += flag) MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
  } else {
    for (int i = under_way - 1; i >= 0; i--) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < under_way; i++) end_task(&tasks[i]);
  under_way = 0;
}

static void collective(const struct communicator* on) {
  const enum form form = (enum form)draw(FORMS);
  struct task fresh = {.request = MPI_REQUEST_NULL, .kind = (enum kind)draw(KINDS), .persistent = form == PERSISTENT};
  fresh.tag = draw(1u << 30);
  fresh.count = draw(12) == 0 ? (int)draw(3000) : (int)draw(12);
  const uint32_t way = draw(4);
  if (on->comm == MPI_COMM_NULL) return;
  if (under_way == MOST_TASKS) complete(way);
  struct task* task = &tasks[under_way];
  *task = fresh;
  task->size = on->size;
  task->me = on->me;
  memcpy(task->members, on->members, sizeof on->members);
  task->root = (int)(task->tag % (uint32_t)task->size);
  fill(task);
  call(task, on->comm, form);
  if (form == BLOCKING)
    end_task(task);
  else
    under_way += 1;
}

static void look(struct communicator* fresh) {
  MPI_Group world, own;
  int numbers[MOST_RANKS];
  fresh->open = 1;
  if (fresh->comm == MPI_COMM_NULL) return;
  MPI_Comm_rank(fresh->comm, &fresh->me);
  MPI_Comm_size(fresh->comm, &fresh->size);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Comm_group(fresh->comm, &own);
  for (int i = 0; i < fresh->size; i++) numbers[i] = i;
  MPI_Group_translate_ranks(own, fresh->size, numbers, world, fresh->members);
  MPI_Group_free(&own);
  MPI_Group_free(&world);
}

static void make(const struct communicator* parent, struct communicator* fresh) {
  const uint32_t parts = 1 + draw(3), way = draw(3), seed = draw(1u << 30);
  fresh->comm = MPI_COMM_NULL;
  if (parent->comm != MPI_COMM_NULL) {
    const uint32_t own = mix(seed, (uint32_t)rank);
    if (way == 0)
      MPI_Comm_dup(parent->comm, &fresh->comm);
    else
      MPI_Comm_split(parent->comm, way == 1 && own % 7 == 0 ? MPI_UNDEFINED : (int)(own % parts), (int)(own >> 8 & 255),
                     &fresh->comm);
  }
  look(fresh);
}

static void be_late(void) {
  const uint32_t own = mix(state, (uint32_t)rank + 1000);
  for (uint32_t turns = own % 4 == 0 ? own / 4 % 2000 : 0; turns > 0; turns--) MPI_Wtime();
}

static void run(void) {
  state = mix(program, 0);
  for (int step = 0; step < STEPS; step++) {
    const uint32_t what = draw(16), which = draw(MOST_COMMUNICATORS), place = draw(MOST_COMMUNICATORS - 1) + 1;
    const struct communicator* on = pool[which].open ? &pool[which] : &pool[0];
    be_late();
    if (what < 4 && !pool[place].open)
      make(on, &pool[place]);
    else if (what == 4 && pool[place].open) { /* operations in flight on it continue */
      if (pool[place].comm != MPI_COMM_NULL) MPI_Comm_free(&pool[place].comm);
      pool[place].open = 0;
    } else if (what == 5)
      complete(draw(4));
    else
      collective(on);
  }
  complete(draw(4));
  for (int i = 1; i < MOST_COMMUNICATORS; i++) {
    if (pool[i].open && pool[i].comm != MPI_COMM_NULL) MPI_Comm_free(&pool[i].comm);
    pool[i].open = 0;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const uint32_t first = (uint32_t)strtoul(argv[1], NULL, 10), count = (uint32_t)strtoul(argv[2], NULL, 10);
  pool[0].comm = MPI_COMM_WORLD;
  look(&pool[0]);
  for (program = first; program != first + count; program++) {
    if (rank == 0 && program % 100 == 0) fprintf(stderr, "program %u\n", program);
    run();
  }
  if (rank == 0) printf("%u programs are right\n", count);
  MPI_Finalize();
  return 0;
}
