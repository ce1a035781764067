// SPDX-License-Identifier: Apache-2.0
/* Random sequences of calls in orders that differ between ranks, within MPI's rules: random_orders SEED COUNT.
 * Sequence i is that of seed SEED + i.
 *
 * All ranks draw the same sequence of phases. In a phase each rank permutes calls that MPI does not order:
 * collectives and copies of different communicators, starts of persistent collectives, messages of different tags;
 * and completes them in an order of its own. A blocking collective is in the middle of a phase; communicators and
 * persistent collectives are created and freed between phases. A wrong result ends the run with the sequence's seed;
 * a digest of all results is printed. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_RANKS = 16, COMMUNICATORS = 10, PERSISTENTS = 8, PHASES = 4, OPERATIONS = 16, COUNT = 6 };
enum { ROOM = MOST_RANKS * COUNT, MOST_REQUESTS = 2 * OPERATIONS };

enum kind {
  BARRIER,
  BCAST,
  ALLREDUCE,
  ALLGATHER,
  ALLTOALL,
  NEIGHBOURS,
  COLLECTIVES,
  COPY = COLLECTIVES,
  MESSAGE,
  TAGGED,
  START,
  KINDS
};
enum form { BLOCKING, NON_BLOCKING, PERSISTENT };

struct communicator {
  MPI_Comm comm; /* MPI_COMM_NULL if this rank is in no part */
  enum { CLOSED, COMING, OPEN } state;
  int held; /* by persistent collectives */
  int between, ring, size, me;
  int members[MOST_RANKS]; /* ranks of the world; between two groups, those of the other one */
};

struct operation {
  enum kind kind;
  struct communicator* on;
  struct communicator* made;    /* of a copy */
  struct operation* persistent; /* the one that is started */
  int issued, called, count, root;
  uint32_t tag;
  struct communicator as_it_was; /* its communicator may be freed before it is checked */
  int send[ROOM], receive[ROOM];
  MPI_Request requests[2];
};

static int rank, ranks;
static uint32_t sequence, state, own_state, digest;
static struct communicator pool[COMMUNICATORS];
static struct operation persistents[PERSISTENTS];
static int made_persistents;

static uint32_t mix(uint32_t a, uint32_t b) {
  uint32_t x = a * 0x9e3779b9u ^ (b + 0x7f4a7c15u) * 0x85ebca6bu;
  x = (x ^ x >> 15) * 0x2c1b3c6du;
  x = (x ^ x >> 12) * 0x297a2d39u;
  return x ^ x >> 15;
}
/* The same on all ranks. */
static uint32_t draw(uint32_t below) {
  state = mix(state, 1);
  return state % below;
}
/* Different on each rank. */
static uint32_t draw_own(uint32_t below) {
  own_state = mix(own_state, 2 + (uint32_t)rank);
  return own_state % below;
}

static int element(uint32_t tag, int from, int to, int k) {
  return (int)(mix(mix(tag, (uint32_t)(from * 100 + to)), (uint32_t)k) % 2001) - 1000;
}

static void expect(const struct operation* o, int at, int value) {
  digest = mix(digest, (uint32_t)o->receive[at]);
  if (o->receive[at] == value) return;
  printf("sequence %u, rank %d: kind %d has %d instead of %d\n", sequence, rank, o->kind, o->receive[at], value);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static int left_of(const struct communicator* on) {
  return (on->me + on->size - 1) % on->size;
}
static int right_of(const struct communicator* on) {
  return (on->me + 1) % on->size;
}

static void fill(struct operation* o) {
  o->as_it_was = *o->on;
  for (int k = 0; k < ROOM; k++) o->send[k] = o->receive[k] = 1 << 20;
  for (int k = 0; k < o->count; k++) o->send[k] = element(o->tag, rank, -1, k);
  for (int i = 0; o->kind == ALLTOALL && i < o->on->size; i++)
    for (int k = 0; k < o->count; k++) o->send[i * o->count + k] = element(o->tag, rank, o->on->members[i], k);
  for (int k = 0; o->kind == BCAST && o->on->me == o->root && k < o->count; k++) o->receive[k] = o->send[k];
}

static void expect_block(const struct operation* o, int block, int from, int to) {
  for (int k = 0; k < o->count; k++) expect(o, block * o->count + k, element(o->tag, from, to, k));
}

static void check(const struct operation* o) {
  const struct communicator* on = &o->as_it_was;
  switch (o->kind) {
    case BCAST:
      expect_block(o, 0, on->members[o->root], -1);
      break;
    case ALLREDUCE:
      for (int k = 0; k < o->count; k++) {
        int sum = 0;
        for (int i = 0; i < on->size; i++) sum += element(o->tag, on->members[i], -1, k);
        expect(o, k, sum);
      }
      break;
    case ALLGATHER:
    case ALLTOALL:
      for (int i = 0; i < on->size; i++) expect_block(o, i, on->members[i], o->kind == ALLTOALL ? rank : -1);
      break;
    case NEIGHBOURS:
      expect_block(o, 1, on->members[right_of(on)], -1); /* fall through */
    case MESSAGE:
    case TAGGED:
      expect_block(o, 0, on->members[left_of(on)], -1);
      break;
    default:
      break;
  }
}

#define CALL(Name, name, ...)                                         \
  (form == BLOCKING       ? MPI_##Name(__VA_ARGS__)                   \
   : form == NON_BLOCKING ? MPI_I##name(__VA_ARGS__, &o->requests[0]) \
                          : MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &o->requests[0]))

static void call(struct operation* o, enum form form) {
  const MPI_Comm comm = o->on->comm;
  const int c = o->count;
  int *s = o->send, *r = o->receive;
  fill(o);
  o->called = 1;
  switch (o->kind) {
    case BARRIER:
      CALL(Barrier, barrier, comm);
      break;
    case BCAST:
      CALL(Bcast, bcast, r, c, MPI_INT, o->root, comm);
      break;
    case ALLREDUCE:
      CALL(Allreduce, allreduce, s, r, c, MPI_INT, MPI_SUM, comm);
      break;
    case ALLGATHER:
      CALL(Allgather, allgather, s, c, MPI_INT, r, c, MPI_INT, comm);
      break;
    case ALLTOALL:
      CALL(Alltoall, alltoall, s, c, MPI_INT, r, c, MPI_INT, comm);
      break;
    case NEIGHBOURS:
      CALL(Neighbor_allgather, neighbor_allgather, s, c, MPI_INT, r, c, MPI_INT, comm);
      break;
    case COPY:
      MPI_Comm_idup(comm, &o->made->comm, &o->requests[0]);
      break;
    case START:
      fill(o->persistent);
      MPI_Start(&o->persistent->requests[0]);
      o->requests[0] = o->persistent->requests[0];
      break;
    default: {
      const int tag = o->kind == MESSAGE ? 1 : 2 + (int)(o->tag % 30000);
      MPI_Irecv(r, c, MPI_INT, o->kind == MESSAGE ? MPI_ANY_SOURCE : left_of(o->on), tag, comm, &o->requests[0]);
      MPI_Isend(s, c, MPI_INT, right_of(o->on), tag, comm, &o->requests[1]);
    }
  }
}

/* True for two that MPI orders: collectives, and messages of one tag, of a communicator. */
static int ordered(const struct operation* a, const struct operation* b) {
  return a->on == b->on && ((a->kind <= COPY && b->kind <= COPY) || (a->kind == MESSAGE && b->kind == MESSAGE));
}

static int may_come(const struct operation* operations, int which) {
  if (operations[which].issued) return 0;
  for (int i = 0; i < which; i++)
    if (!operations[i].issued && ordered(&operations[i], &operations[which])) return 0;
  return 1;
}

static void be_late(void) {
  for (uint32_t turns = draw_own(4) == 0 ? draw_own(1000) : 0; turns > 0; turns--) MPI_Wtime();
}

static void issue(struct operation* operations, int count) {
  for (int left = count; left > 0; left--) {
    int which = (int)draw_own((uint32_t)count);
    while (!may_come(operations, which)) which = (which + 1) % count;
    operations[which].issued = 1;
    be_late();
    if (operations[which].on->comm != MPI_COMM_NULL) call(&operations[which], NON_BLOCKING);
  }
}

static void complete(struct operation* operations, int count) {
  MPI_Request pending[MOST_REQUESTS];
  int number = 0, index, some, indices[MOST_REQUESTS];
  for (int i = 0; i < count; i++)
    for (int k = 0; k < 2; k++)
      if (operations[i].requests[k] != MPI_REQUEST_NULL) pending[number++] = operations[i].requests[k];
  for (int i = number - 1; i > 0; i--) {
    const uint32_t other = draw_own((uint32_t)i + 1);
    const MPI_Request kept = pending[i];
    pending[i] = pending[other];
    pending[other] = kept;
  }
  switch (draw_own(5)) {
    case 0:
      MPI_Waitall(number, pending, MPI_STATUSES_IGNORE);
      break;
    case 1:
      do MPI_Waitany(number, pending, &index, MPI_STATUS_IGNORE);
      while (index != MPI_UNDEFINED);
      break;
    case 2:
      do MPI_Testsome(number, pending, &some, indices, MPI_STATUSES_IGNORE);
      while (some != MPI_UNDEFINED);
      break;
    case 3:
      for (int i = 0, flag; i < number; i += flag) MPI_Test(&pending[i], &flag, MPI_STATUS_IGNORE);
      break;
    default:
      for (int i = 0; i < number; i++) MPI_Wait(&pending[i], MPI_STATUS_IGNORE);
  }
}

static struct communicator* any_open(void) {
  struct communicator* found = &pool[draw(COMMUNICATORS)];
  return found->state == OPEN ? found : &pool[0];
}
static struct communicator* any_closed(void) {
  struct communicator* found = &pool[1 + draw(COMMUNICATORS - 1)];
  return found->state == CLOSED ? found : NULL;
}

static struct operation drawn_collective(struct communicator* on) {
  struct operation o = {
      .kind = (enum kind)draw(COLLECTIVES), .on = on, .requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}};
  if (o.kind == NEIGHBOURS && !on->ring) o.kind = ALLREDUCE;
  if (on->between && o.kind == BCAST) o.kind = ALLGATHER; /* its roots are written differently */
  o.tag = draw(1u << 30);
  o.count = (int)draw(COUNT + 1);
  o.root = on->size > 0 ? (int)(o.tag % (uint32_t)on->size) : 0;
  return o;
}

/* One copy at a time: with several, MPICH itself can deadlock (docs/mpi.md). */
static struct operation drawn(uint32_t* started, int* copies) {
  struct operation o = drawn_collective(any_open());
  const enum kind kind = COLLECTIVES + (enum kind)draw(2 * (KINDS - COLLECTIVES));
  struct communicator* made = any_closed();
  const uint32_t which = draw(PERSISTENTS);
  if (kind == COPY && made != NULL && *copies == 0) {
    *copies += 1;
    o.kind = COPY;
    o.made = made;
    *made = *o.on;
    made->comm = MPI_COMM_NULL;
    made->held = 0;
    made->state = COMING;
  } else if ((kind == MESSAGE || kind == TAGGED) && !o.on->between) {
    o.kind = kind;
  } else if (kind == START && (int)which < made_persistents && (*started >> which & 1) == 0) {
    *started |= 1u << which;
    o.kind = START;
    o.persistent = &persistents[which];
    o.on = o.persistent->on;
    o.persistent->tag = o.tag;
  }
  return o;
}

static void look(struct communicator* fresh) {
  MPI_Group world, group;
  int numbers[MOST_RANKS], between = 0, kind = MPI_UNDEFINED;
  fresh->state = OPEN;
  fresh->held = 0;
  fresh->size = fresh->me = fresh->between = fresh->ring = 0;
  if (fresh->comm == MPI_COMM_NULL) return;
  MPI_Comm_test_inter(fresh->comm, &between);
  fresh->between = between;
  if (!between) MPI_Topo_test(fresh->comm, &kind);
  fresh->ring = kind == MPI_CART;
  MPI_Comm_rank(fresh->comm, &fresh->me);
  if (between)
    MPI_Comm_remote_group(fresh->comm, &group);
  else
    MPI_Comm_group(fresh->comm, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_size(group, &fresh->size);
  for (int i = 0; i < fresh->size; i++) numbers[i] = i;
  MPI_Group_translate_ranks(group, fresh->size, numbers, world, fresh->members);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
}

/* Constructors that an intercommunicator does not support fall back to a copy. */
static void make(void) {
  const struct communicator* from = any_open();
  struct communicator* fresh = any_closed();
  const uint32_t way = draw(6), seed = draw(1u << 30), own = mix(seed, (uint32_t)rank);
  if (fresh == NULL) return;
  fresh->comm = MPI_COMM_NULL;
  if (from->comm != MPI_COMM_NULL) {
    const int simple = !from->between, upper = from->me >= from->size / 2;
    const int one = 1, sizes[] = {from->size};
    if (way == 1 || way == 2) {
      MPI_Comm_split(from->comm, way == 1 && own % 5 == 0 ? MPI_UNDEFINED : (int)(own % way), (int)(own >> 8 & 255),
                     &fresh->comm);
    } else if (way == 3 && simple) {
      MPI_Cart_create(from->comm, 1, sizes, &one, 0, &fresh->comm);
    } else if (way == 4 && simple) {
      int every_second[1][3] = {{0, from->size - 1, 2}};
      MPI_Group all, some;
      MPI_Comm_group(from->comm, &all);
      MPI_Group_range_incl(all, 1, every_second, &some);
      if (from->me % 2 == 0) MPI_Comm_create_group(from->comm, some, (int)(seed % 1000), &fresh->comm);
      MPI_Group_free(&some);
      MPI_Group_free(&all);
    } else if (way == 5 && simple && from->size > 1) {
      MPI_Comm half;
      MPI_Comm_split(from->comm, upper, from->me, &half);
      MPI_Intercomm_create(half, 0, from->comm, upper ? 0 : from->size / 2, 0, &fresh->comm);
      MPI_Comm_free(&half);
    } else {
      MPI_Comm_dup(from->comm, &fresh->comm);
    }
  }
  look(fresh);
}

static void make_persistent(void) {
  if (made_persistents == PERSISTENTS) return;
  struct operation* o = &persistents[made_persistents++];
  *o = drawn_collective(any_open());
  o->on->held += 1;
  if (o->on->comm != MPI_COMM_NULL) call(o, PERSISTENT);
}

/* Operations in flight on it continue. */
static void close_one(void) {
  struct communicator* one = &pool[1 + draw(COMMUNICATORS - 1)];
  if (one->state != OPEN || one->held > 0) return;
  if (one->comm != MPI_COMM_NULL) MPI_Comm_free(&one->comm);
  one->state = CLOSED;
}

static void phase(void) {
  static struct operation operations[OPERATIONS];
  uint32_t started = 0;
  int copies = 0;
  const int count = 2 + (int)draw(OPERATIONS - 1), first = (int)draw((uint32_t)count);
  for (int i = 0; i < count; i++) operations[i] = drawn(&started, &copies);
  struct operation blocking = drawn_collective(any_open());
  issue(operations, first);
  if (blocking.on->comm != MPI_COMM_NULL) {
    call(&blocking, BLOCKING);
    check(&blocking);
  }
  issue(operations + first, count - first);
  for (int i = 0; i < 2; i++) close_one();
  complete(operations, count);
  for (int i = 0; i < count; i++) {
    if (operations[i].called) check(operations[i].kind == START ? operations[i].persistent : &operations[i]);
    if (operations[i].kind == COPY) operations[i].made->state = OPEN;
  }
}

static void free_persistents(void) {
  const int first = (int)draw_own(PERSISTENTS);
  for (int i = 0; i < PERSISTENTS; i++) {
    struct operation* o = &persistents[(first + i) % PERSISTENTS];
    if (o->called) MPI_Request_free(&o->requests[0]);
    o->called = 0;
  }
  made_persistents = 0;
}

static void run(void) {
  state = mix(sequence, 0);
  own_state = mix(sequence, 1 + (uint32_t)rank);
  for (int i = 0; i < PHASES; i++) {
    for (uint32_t left = draw(4); left > 0; left--) make();
    for (uint32_t left = draw(4); left > 0; left--) make_persistent();
    phase();
  }
  free_persistents();
  for (int i = 1; i < COMMUNICATORS; i++) {
    if (pool[i].state == OPEN && pool[i].comm != MPI_COMM_NULL) MPI_Comm_free(&pool[i].comm);
    pool[i].state = CLOSED;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const uint32_t first = (uint32_t)strtoul(argv[1], NULL, 10), count = (uint32_t)strtoul(argv[2], NULL, 10);
  pool[0].comm = MPI_COMM_WORLD;
  look(&pool[0]);
  for (sequence = first; sequence != first + count; sequence++) {
    uint32_t all = 0;
    if (rank == 0) fprintf(stderr, "sequence %u\n", sequence);
    run();
    MPI_Reduce(&digest, &all, 1, MPI_UINT32_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%u %08x\n", sequence, all);
  }
  if (rank == 0) printf("%u sequences are right\n", count);
  MPI_Finalize();
  return 0;
}
