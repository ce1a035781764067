// SPDX-License-Identifier: Apache-2.0
/* The collectives: buffers, call and expected result of each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "osu.h"

static size_t one(const struct job* job) {
  return job->bytes;
}
static size_t all(const struct job* job) {
  return job->bytes * (size_t)job->ranks;
}
static size_t one_at_root(const struct job* job) {
  return job->rank == job->root ? one(job) : 0;
}
static size_t all_at_root(const struct job* job) {
  return job->rank == job->root ? all(job) : 0;
}
static size_t own_part(const struct job* job) {
  return (size_t)job->counts[job->rank] * job->number->size;
}

static int blocks(const struct job* job, size_t bytes) {
  return job->bytes ? (int)(bytes / job->bytes) : 0;
}
static int elements(const struct job* job) {
  return (int)(job->bytes / job->number->size);
}

static size_t size_of(const struct job* job, int block) {
  return job->sizes ? (size_t)job->sizes[block] : job->bytes;
}

/* Block j of a buffer belongs to owner first + j * step. */
static void fill_blocks(const struct job* job, char* buffer, int count, int first, int step) {
  for (int j = 0; j < count; ++j)
    memcpy(buffer + (size_t)j * job->bytes, pattern(job->bytes, (unsigned)(first + j * step), job->salt),
           size_of(job, j));
}
static size_t wrong_blocks(const struct job* job, const char* buffer, int count, int first, int step) {
  size_t wrong = 0;
  for (int j = 0; j < count; ++j)
    wrong += byte_differences(buffer + (size_t)j * job->bytes,
                              pattern(job->bytes, (unsigned)(first + j * step), job->salt), size_of(job, j));
  return wrong;
}

static void fill_own(const struct job* job) {
  memcpy(job->send, pattern(job->bytes, (unsigned)job->rank, job->salt), size_of(job, job->rank));
}
static void fill_at_root(const struct job* job) {
  fill_blocks(job, job->send, blocks(job, all_at_root(job)), 0, 1);
}
static void fill_pairs(const struct job* job) {
  fill_blocks(job, job->send, job->ranks, job->rank * job->ranks, 1);
}
static void fill_numbers(const struct job* job) {
  job->number->fill(job->send, (size_t)elements(job), job->rank, job->salt);
}
static void fill_all_numbers(const struct job* job) {
  job->number->fill(job->send, (size_t)elements(job) * (size_t)job->ranks, job->rank, job->salt);
}
/* A broadcast uses one buffer, from which the root sends and into which the others receive. */
static void fill_broadcast(const struct job* job) {
  if (job->rank == job->root) fill_blocks(job, job->receive, 1, job->root, 0);
}

static size_t wrong_broadcast(const struct job* job) {
  return wrong_blocks(job, job->receive, 1, job->root, 0);
}
static size_t wrong_gathered(const struct job* job) {
  return wrong_blocks(job, job->receive, job->ranks, 0, 1);
}
static size_t wrong_gathered_at_root(const struct job* job) {
  return job->rank == job->root ? wrong_gathered(job) : 0;
}
static size_t wrong_own(const struct job* job) {
  return byte_differences(job->receive, pattern(job->bytes, (unsigned)job->rank, job->salt), size_of(job, job->rank));
}
static size_t wrong_pairs(const struct job* job) {
  return wrong_blocks(job, job->receive, job->ranks, job->rank, job->ranks);
}
static size_t wrong_numbers(const struct job* job, int first, int count, int ranks) {
  return job->number->differences(job->receive, (size_t)first, (size_t)count, ranks, job->salt, job->op);
}
static size_t wrong_reduced(const struct job* job) {
  return wrong_numbers(job, 0, elements(job), job->ranks);
}
static size_t wrong_reduced_at_root(const struct job* job) {
  return job->rank == job->root ? wrong_reduced(job) : 0;
}
static size_t wrong_scanned(const struct job* job) {
  return wrong_numbers(job, 0, elements(job), job->rank + 1);
}
static size_t wrong_scanned_before(const struct job* job) {
  return job->rank == 0 ? 0 : wrong_numbers(job, 0, elements(job), job->rank);
}
static size_t wrong_own_numbers(const struct job* job) {
  return wrong_numbers(job, job->rank * elements(job), elements(job), job->ranks);
}
static size_t wrong_part(const struct job* job) {
  return wrong_numbers(job, job->offsets[job->rank], job->counts[job->rank], job->ranks);
}

/* MPI_Name, MPI_Iname or MPI_Name_init. */
#if MPI_VERSION >= 4
#define PERSISTENT(call) call
#else
#define PERSISTENT(call) MPI_ERR_UNSUPPORTED_OPERATION
#endif
#define CALL(Name, Iname, ...)                                \
  (form == blocking       ? MPI_##Name(__VA_ARGS__)           \
   : form == non_blocking ? MPI_##Iname(__VA_ARGS__, request) \
                          : PERSISTENT(MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, request)))

static void barrier(const struct job* job, enum form form, MPI_Request* request) {
  (void)job;
  CALL(Barrier, Ibarrier, MPI_COMM_WORLD);
}
static void bcast(const struct job* job, enum form form, MPI_Request* request) {
  CALL(Bcast, Ibcast, job->receive, (int)job->bytes, MPI_BYTE, job->root, MPI_COMM_WORLD);
}
static void reduce(const struct job* job, enum form form, MPI_Request* request) {
  CALL(Reduce, Ireduce, job->send, job->receive, elements(job), job->number->type, job->mpi_op, job->root,
       MPI_COMM_WORLD);
}
static void allreduce(const struct job* job, enum form form, MPI_Request* request) {
  CALL(Allreduce, Iallreduce, job->send, job->receive, elements(job), job->number->type, job->mpi_op, MPI_COMM_WORLD);
}
static void gather(const struct job* job, enum form form, MPI_Request* request) {
  CALL(Gather, Igather, job->send, (int)job->bytes, MPI_BYTE, job->receive, (int)job->bytes, MPI_BYTE, job->root,
       MPI_COMM_WORLD);
}
static void allgather(const struct job* job, enum form form, MPI_Request* request) {
  CALL(Allgather, Iallgather, job->send, (int)job->bytes, MPI_BYTE, job->receive, (int)job->bytes, MPI_BYTE,
       MPI_COMM_WORLD);
}
static void scatter(const struct job* job, enum form form, MPI_Request* request) {
  CALL(Scatter, Iscatter, job->send, (int)job->bytes, MPI_BYTE, job->receive, (int)job->bytes, MPI_BYTE, job->root,
       MPI_COMM_WORLD);
}
static void alltoall(const struct job* job, enum form form, MPI_Request* request) {
  CALL(Alltoall, Ialltoall, job->send, (int)job->bytes, MPI_BYTE, job->receive, (int)job->bytes, MPI_BYTE,
       MPI_COMM_WORLD);
}
static void scan(const struct job* job, enum form form, MPI_Request* request) {
  CALL(Scan, Iscan, job->send, job->receive, elements(job), job->number->type, job->mpi_op, MPI_COMM_WORLD);
}
static void exscan(const struct job* job, enum form form, MPI_Request* request) {
  CALL(Exscan, Iexscan, job->send, job->receive, elements(job), job->number->type, job->mpi_op, MPI_COMM_WORLD);
}
static void reduce_scatter(const struct job* job, enum form form, MPI_Request* request) {
  CALL(Reduce_scatter, Ireduce_scatter, job->send, job->receive, job->counts, job->number->type, job->mpi_op,
       MPI_COMM_WORLD);
}
static void reduce_scatter_block(const struct job* job, enum form form, MPI_Request* request) {
  CALL(Reduce_scatter_block, Ireduce_scatter_block, job->send, job->receive, elements(job), job->number->type,
       job->mpi_op, MPI_COMM_WORLD);
}
static void gatherv(const struct job* job, enum form form, MPI_Request* request) {
  CALL(Gatherv, Igatherv, job->send, job->sizes[job->rank], MPI_BYTE, job->receive, job->sizes, job->places, MPI_BYTE,
       job->root, MPI_COMM_WORLD);
}
static void scatterv(const struct job* job, enum form form, MPI_Request* request) {
  CALL(Scatterv, Iscatterv, job->send, job->sizes, job->places, MPI_BYTE, job->receive, job->sizes[job->rank], MPI_BYTE,
       job->root, MPI_COMM_WORLD);
}
static void allgatherv(const struct job* job, enum form form, MPI_Request* request) {
  CALL(Allgatherv, Iallgatherv, job->send, job->sizes[job->rank], MPI_BYTE, job->receive, job->sizes, job->places,
       MPI_BYTE, MPI_COMM_WORLD);
}
static void alltoallv(const struct job* job, enum form form, MPI_Request* request) {
  CALL(Alltoallv, Ialltoallv, job->send, job->sizes, job->places, MPI_BYTE, job->receive, job->sizes, job->places,
       MPI_BYTE, MPI_COMM_WORLD);
}
static void alltoallw(const struct job* job, enum form form, MPI_Request* request) {
  CALL(Alltoallw, Ialltoallw, job->send, job->sizes, job->places, job->types, job->receive, job->sizes, job->places,
       job->types, MPI_COMM_WORLD);
}

const struct operation collectives[] = {
    {"barrier", 0, 0, NULL, NULL, NULL, barrier, NULL},
    {"bcast", 0, 0, NULL, one, fill_broadcast, bcast, wrong_broadcast},
    {"reduce", 1, 0, one, one_at_root, fill_numbers, reduce, wrong_reduced_at_root},
    {"allreduce", 1, 0, one, one, fill_numbers, allreduce, wrong_reduced},
    {"gather", 0, 0, one, all_at_root, fill_own, gather, wrong_gathered_at_root},
    {"allgather", 0, 0, one, all, fill_own, allgather, wrong_gathered},
    {"scatter", 0, 0, all_at_root, one, fill_at_root, scatter, wrong_own},
    {"alltoall", 0, 0, all, all, fill_pairs, alltoall, wrong_pairs},
    {"scan", 1, 0, one, one, fill_numbers, scan, wrong_scanned},
    {"exscan", 1, 0, one, one, fill_numbers, exscan, wrong_scanned_before},
    {"reduce_scatter", 1, 0, one, own_part, fill_numbers, reduce_scatter, wrong_part},
    {"reduce_scatter_block", 1, 0, all, one, fill_all_numbers, reduce_scatter_block, wrong_own_numbers},
    {"gatherv", 0, 1, one, all_at_root, fill_own, gatherv, wrong_gathered_at_root},
    {"scatterv", 0, 1, all_at_root, one, fill_at_root, scatterv, wrong_own},
    {"allgatherv", 0, 1, one, all, fill_own, allgatherv, wrong_gathered},
    {"alltoallv", 0, 2, all, all, fill_pairs, alltoallv, wrong_pairs},
    {"alltoallw", 0, 2, all, all, fill_pairs, alltoallw, wrong_pairs},
};
const size_t collective_count = sizeof collectives / sizeof collectives[0];

/* Computes for `seconds`. */
static double compute(double seconds) {
  static volatile double sink;
  const double start = MPI_Wtime();
  double now = start;
  while ((now = MPI_Wtime()) - start < seconds)
    for (int i = 0; i < 16; ++i) sink = sink * 0.5 + i;
  return now - start;
}

struct times {
  double total, computing;
};

/* Starts an operation, computes for `work` seconds, and completes it. */
static struct times once(const struct operation* operation, const struct job* job, enum form form, MPI_Request* request,
                         double work) {
  struct times spent = {0, 0};
  const double start = MPI_Wtime();
  if (form == persistent)
    MPI_Start(request);
  else
    operation->call(job, form, request);
  if (work > 0) spent.computing = compute(work);
  if (form != blocking) MPI_Wait(request, MPI_STATUS_IGNORE);
  spent.total = MPI_Wtime() - start;
  return spent;
}

/* Mean over the rank's iterations of one size, each with `work` seconds of computing; adds the number of wrong results
 * to `wrong`. */
static struct times measure_size(const struct operation* operation, struct job* job, const struct plan* plan,
                                 int iterations, double work, size_t* wrong) {
  const size_t receive_bytes = operation->receive_bytes ? operation->receive_bytes(job) : 0;
  const int warmup = plan->warmup < iterations ? plan->warmup : iterations;
  MPI_Request request = MPI_REQUEST_NULL;
  struct times sum = {0, 0};
  if (plan->form == persistent) operation->call(job, persistent, &request);
  for (int i = -warmup; i < iterations; ++i) {
    const int checked = i == -warmup || i == iterations - 1;
    if (checked) {
      ++job->salt;
      memset(job->receive, 0x55, receive_bytes);
      if (operation->fill) operation->fill(job);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const struct times spent = once(operation, job, plan->form, &request, work);
    if (i >= 0) sum.total += spent.total, sum.computing += spent.computing;
    if (checked && operation->differences) *wrong += operation->differences(job);
  }
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  return (struct times){sum.total / iterations, sum.computing / iterations};
}

static double mean_us(double own, int ranks) {
  double sum = 0;
  MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum / ranks * 1e6;
}

/* Prints the columns of one size: latency over the ranks, or overlap with computing. */
static size_t print_size(const struct operation* operation, struct job* job, const struct plan* plan, int iterations) {
  size_t wrong = 0;
  const double own = measure_size(operation, job, plan, iterations, 0, &wrong).total;
  double columns[4] = {0, mean_us(own, job->ranks), 0, 0};
  if (plan->overlap) {
    const struct times both = measure_size(operation, job, plan, iterations, columns[1] * 1e-6, &wrong);
    columns[0] = mean_us(both.total, job->ranks);
    columns[2] = mean_us(both.computing, job->ranks);
    const double hidden = 1 - (columns[0] - columns[2]) / columns[1];
    columns[3] = hidden > 0 ? 100 * hidden : 0;
  } else {
    const double own_us = own * 1e6;
    MPI_Reduce(&own_us, &columns[0], 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&own_us, &columns[2], 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  }
  if (job->rank == 0) {
    printf("%12zu %11d %12.2f %12.2f %12.2f ", job->bytes, iterations, columns[0], columns[1], columns[2]);
    if (plan->overlap) printf("%12.1f ", columns[3]);
  }
  return wrong;
}

static void share_out(const struct operation* operation, struct job* job) {
  const int count = elements(job);
  for (int rank = 0, offset = 0; rank < job->ranks; ++rank) {
    job->counts[rank] = count / job->ranks + (rank < count % job->ranks);
    job->offsets[rank] = offset;
    offset += job->counts[rank];
    job->types[rank] = MPI_BYTE;
    job->places[rank] = (int)job->bytes * rank;
    if (operation->uneven) {
      const int which = operation->uneven == 2 ? job->rank + rank : rank;
      job->sizes[rank] = (int)(job->bytes * (size_t)(4 - which % 3) / 4);
    }
  }
}

size_t measure_collective(const struct operation* operation, struct job job, const struct plan* plan) {
  static const char* const forms[] = {"", "i", "persistent "};
  const int sized = operation->receive_bytes != NULL;
  const size_t ranks = (size_t)job.ranks;
  size_t wrong = 0;
  if (job.rank == 0) {
    printf("\n# %s%s\n%12s %11s ", forms[plan->form], operation->name, "bytes", "repetitions");
    if (plan->overlap)
      printf("%12s %12s %12s %12s  %s\n", "overall us", "pure us", "compute us", "overlap %", "verified");
    else
      printf("%12s %12s %12s  %s\n", "min us", "avg us", "max us", "verified");
  }
  job.counts = allocate(ranks * sizeof(int));
  job.offsets = allocate(ranks * sizeof(int));
  job.places = allocate(ranks * sizeof(int));
  job.types = allocate(ranks * sizeof(MPI_Datatype));
  job.sizes = operation->uneven ? allocate(ranks * sizeof(int)) : NULL;
  for (job.bytes = sized ? plan->smallest : 0; job.bytes <= plan->largest; job.bytes = job.bytes ? job.bytes * 2 : 1) {
    if (operation->reduces && job.bytes % job.number->size) continue;
    share_out(operation, &job);
    job.send = allocate(operation->send_bytes ? operation->send_bytes(&job) : 0);
    job.receive = allocate(sized ? operation->receive_bytes(&job) : 0);
    if (!pattern(job.bytes, 0, 0)) allocate(SIZE_MAX);
    size_t own = print_size(operation, &job, plan, repetitions(plan, all(&job))), sum = 0;
    MPI_Reduce(&own, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (job.rank == 0) {
      printf(" %s\n", !operation->differences ? "-" : sum ? "NO" : "yes");
      fflush(stdout);
    }
    wrong += own;
    free(job.send);
    free(job.receive);
    if (!sized) break;
  }
  free(job.counts);
  free(job.offsets);
  free(job.places);
  free(job.types);
  free(job.sizes);
  return wrong;
}
