/* The collectives: for each, its buffers, its call and what must come out. */
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

/* Block j of a buffer belongs to owner first + j * step. */
static void fill_blocks(const struct job* job, char* buffer, int count, int first, int step) {
  for (int j = 0; j < count; ++j)
    memcpy(buffer + (size_t)j * job->bytes, pattern(job->bytes, (unsigned)(first + j * step), job->salt), job->bytes);
}
static size_t wrong_blocks(const struct job* job, const char* buffer, int count, int first, int step) {
  size_t wrong = 0;
  for (int j = 0; j < count; ++j)
    wrong += byte_differences(buffer + (size_t)j * job->bytes,
                              pattern(job->bytes, (unsigned)(first + j * step), job->salt), job->bytes);
  return wrong;
}

static void fill_own(const struct job* job) {
  fill_blocks(job, job->send, 1, job->rank, 0);
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
/* A broadcast's root sends from the buffer that the others receive in. */
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
  return wrong_blocks(job, job->receive, 1, job->rank, 0);
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
static size_t wrong_part(const struct job* job) {
  return wrong_numbers(job, job->offsets[job->rank], job->counts[job->rank], job->ranks);
}

static void barrier(const struct job* job) {
  (void)job;
  MPI_Barrier(MPI_COMM_WORLD);
}
static void bcast(const struct job* job) {
  MPI_Bcast(job->receive, (int)job->bytes, MPI_BYTE, job->root, MPI_COMM_WORLD);
}
static void reduce(const struct job* job) {
  MPI_Reduce(job->send, job->receive, elements(job), job->number->type, job->mpi_op, job->root, MPI_COMM_WORLD);
}
static void allreduce(const struct job* job) {
  MPI_Allreduce(job->send, job->receive, elements(job), job->number->type, job->mpi_op, MPI_COMM_WORLD);
}
static void gather(const struct job* job) {
  MPI_Gather(job->send, (int)job->bytes, MPI_BYTE, job->receive, (int)job->bytes, MPI_BYTE, job->root, MPI_COMM_WORLD);
}
static void allgather(const struct job* job) {
  MPI_Allgather(job->send, (int)job->bytes, MPI_BYTE, job->receive, (int)job->bytes, MPI_BYTE, MPI_COMM_WORLD);
}
static void scatter(const struct job* job) {
  MPI_Scatter(job->send, (int)job->bytes, MPI_BYTE, job->receive, (int)job->bytes, MPI_BYTE, job->root, MPI_COMM_WORLD);
}
static void alltoall(const struct job* job) {
  MPI_Alltoall(job->send, (int)job->bytes, MPI_BYTE, job->receive, (int)job->bytes, MPI_BYTE, MPI_COMM_WORLD);
}
static void scan(const struct job* job) {
  MPI_Scan(job->send, job->receive, elements(job), job->number->type, job->mpi_op, MPI_COMM_WORLD);
}
static void reduce_scatter(const struct job* job) {
  MPI_Reduce_scatter(job->send, job->receive, job->counts, job->number->type, job->mpi_op, MPI_COMM_WORLD);
}

const struct operation collectives[] = {
    {"barrier", 0, NULL, NULL, NULL, barrier, NULL},
    {"bcast", 0, NULL, one, fill_broadcast, bcast, wrong_broadcast},
    {"reduce", 1, one, one_at_root, fill_numbers, reduce, wrong_reduced_at_root},
    {"allreduce", 1, one, one, fill_numbers, allreduce, wrong_reduced},
    {"gather", 0, one, all_at_root, fill_own, gather, wrong_gathered_at_root},
    {"allgather", 0, one, all, fill_own, allgather, wrong_gathered},
    {"scatter", 0, all_at_root, one, fill_at_root, scatter, wrong_own},
    {"alltoall", 0, all, all, fill_pairs, alltoall, wrong_pairs},
    {"scan", 1, one, one, fill_numbers, scan, wrong_scanned},
    {"reduce_scatter", 1, one, own_part, fill_numbers, reduce_scatter, wrong_part},
};
const size_t collective_count = sizeof collectives / sizeof collectives[0];

/* One size: its latency in us in min_us, avg_us and max_us over the ranks at rank 0; the rank's wrong results. */
static size_t measure_size(const struct operation* operation, struct job* job, int warmup, int iterations,
                           double* min_us, double* avg_us, double* max_us) {
  const size_t receive_bytes = operation->receive_bytes ? operation->receive_bytes(job) : 0;
  size_t wrong = 0;
  double spent = 0;
  for (int i = -warmup; i < iterations; ++i) {
    const int checked = i == -warmup || i == iterations - 1;
    if (checked) {
      ++job->salt;
      memset(job->receive, 0x55, receive_bytes);
      if (operation->fill) operation->fill(job);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    operation->call(job);
    const double end = MPI_Wtime();
    if (i >= 0) spent += end - start;
    if (checked && operation->differences) wrong += operation->differences(job);
  }
  const double own_us = spent / iterations * 1e6;
  MPI_Reduce(&own_us, min_us, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&own_us, max_us, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&own_us, avg_us, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  *avg_us /= job->ranks;
  return wrong;
}

static void share_out(struct job* job) {
  const int count = elements(job);
  for (int rank = 0, offset = 0; rank < job->ranks; ++rank) {
    job->counts[rank] = count / job->ranks + (rank < count % job->ranks);
    job->offsets[rank] = offset;
    offset += job->counts[rank];
  }
}

size_t measure_collective(const struct operation* operation, struct job job, const struct plan* plan) {
  const int sized = operation->receive_bytes != NULL;
  size_t wrong = 0;
  if (job.rank == 0)
    printf("\n# %s\n%12s %11s %12s %12s %12s  %s\n", operation->name, "bytes", "repetitions", "min us", "avg us",
           "max us", "verified");
  job.counts = allocate((size_t)job.ranks * sizeof(int));
  job.offsets = allocate((size_t)job.ranks * sizeof(int));
  for (job.bytes = sized ? plan->smallest : 0; job.bytes <= plan->largest; job.bytes = job.bytes ? job.bytes * 2 : 1) {
    if (operation->reduces && job.bytes % job.number->size) continue;
    share_out(&job);
    job.send = allocate(operation->send_bytes ? operation->send_bytes(&job) : 0);
    job.receive = allocate(sized ? operation->receive_bytes(&job) : 0);
    if (!pattern(job.bytes, 0, 0)) allocate(SIZE_MAX);
    double min_us = 0, avg_us = 0, max_us = 0;
    const int iterations = repetitions(plan, all(&job));
    const int warmup = plan->warmup < iterations ? plan->warmup : iterations;
    size_t own = measure_size(operation, &job, warmup, iterations, &min_us, &avg_us, &max_us), sum = 0;
    MPI_Reduce(&own, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (job.rank == 0) {
      printf("%12zu %11d %12.2f %12.2f %12.2f  %s\n", job.bytes, iterations, min_us, avg_us, max_us,
             !operation->differences ? "-"
             : sum                   ? "NO"
                                     : "yes");
      fflush(stdout);
    }
    wrong += own;
    free(job.send);
    free(job.receive);
    if (!sized) break;
  }
  free(job.counts);
  free(job.offsets);
  return wrong;
}
