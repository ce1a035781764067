// SPDX-License-Identifier: Apache-2.0
/* The benchmark's parts: options and tables (main.c), patterns of known content (pattern.c), collectives
 * (collectives.c) and messages between two ranks (messages.c). */
#ifndef THALWEG_OSU_H
#define THALWEG_OSU_H

#include <mpi.h>
#include <stddef.h>

/* An element type of reductions, with functions that make and check elements. */
struct number {
  const char* name;
  MPI_Datatype type;
  size_t size;
  void (*fill)(void* elements, size_t count, int rank, unsigned salt);
  /* Number of elements first .. first+count-1 that differ from the result of `op` over ranks 0 .. ranks-1. */
  size_t (*differences)(const void* elements, size_t first, size_t count, int ranks, unsigned salt, char op);
};

/* A rank's parameters of one operation with one size. */
struct job {
  int rank, ranks, root;
  size_t bytes; /* as in OSU: of a block for gather and scatter operations, else of the whole buffer */
  const struct number* number;
  char op; /* '+', '<' (minimum) or '>' (maximum) */
  MPI_Op mpi_op;
  int *counts, *offsets; /* of reduce_scatter, in elements */
  int *sizes, *places;   /* of each block of the v and w variants, in bytes */
  MPI_Datatype* types;   /* MPI_BYTE for each rank */
  char *send, *receive;
  unsigned salt; /* varies the content between repetitions */
};

enum form { blocking, non_blocking, persistent };

struct operation {
  const char* name;
  int reduces;                                 /* the size is a number of elements of job.number */
  int uneven;                                  /* blocks differ in size: 1 by their owner, 2 by sender and receiver */
  size_t (*send_bytes)(const struct job* job); /* size of the rank's buffer; NULL: none */
  size_t (*receive_bytes)(const struct job* job);
  void (*fill)(const struct job* job); /* writes the send buffer; NULL: nothing to send */
  /* Executes the collective, or makes its request in the other forms. */
  void (*call)(const struct job* job, enum form form, MPI_Request* request);
  size_t (*differences)(const struct job* job); /* wrong elements or bytes of the receive buffer; NULL: none */
};

struct plan {
  int warmup, iterations;
  size_t smallest, largest;
  enum form form;
  int overlap;  /* measures the overlap of computing with the collective */
  size_t total; /* maximum bytes of all repetitions of a size, over all ranks; at least one repetition */
};

extern const struct operation collectives[]; /* the fabric computes the first six */
extern const size_t collective_count;
extern const struct number numbers[];
extern const size_t number_count;

/* Content of block `owner` of `bytes` bytes, the same on all ranks; NULL if memory is exhausted. */
const char* pattern(size_t bytes, unsigned owner, unsigned salt);
size_t byte_differences(const char* seen, const char* expected, size_t bytes);

/* Number of repetitions of a size that transfers `bytes` in each. */
int repetitions(const struct plan* plan, size_t bytes);
void* allocate(size_t bytes);

/* Each prints a table at rank 0 and returns the number of the rank's wrong results. */
size_t measure_collective(const struct operation* operation, struct job job, const struct plan* plan);
size_t measure_latency(const struct plan* plan, int peer);
size_t measure_bandwidth(const struct plan* plan, int peer);

#endif
