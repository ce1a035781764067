// SPDX-License-Identifier: Apache-2.0
/* The benchmark's parts: options and tables (main.c), patterns of known content (pattern.c), collectives
 * (collectives.c) and messages between two ranks (messages.c). */
#ifndef THALWEG_OSU_H
#define THALWEG_OSU_H

#include <mpi.h>
#include <stddef.h>

/* A type that reductions are measured with, and how its elements are made and checked. */
struct number {
  const char* name;
  MPI_Datatype type;
  size_t size;
  void (*fill)(void* elements, size_t count, int rank, unsigned salt);
  /* Elements that differ from what `op` gives over ranks 0 .. ranks-1, for elements first .. first+count-1. */
  size_t (*differences)(const void* elements, size_t first, size_t count, int ranks, unsigned salt, char op);
};

/* One size of one operation, as a rank sees it. */
struct job {
  int rank, ranks, root;
  size_t bytes; /* OSU's meaning: of a block where blocks are gathered or scattered, else of the whole buffer */
  const struct number* number;
  char op; /* '+', '<' (minimum) or '>' (maximum) */
  MPI_Op mpi_op;
  int *counts, *offsets; /* of reduce_scatter, in elements */
  int *sizes, *places;   /* of each block of a form for blocks of different sizes, in bytes */
  MPI_Datatype* types;   /* MPI_BYTE for each rank */
  char *send, *receive;
  unsigned salt; /* changes the content from one repetition to the next */
};

enum form { blocking, non_blocking, persistent };

struct operation {
  const char* name;
  int reduces;                                 /* the size is a number of elements of job.number */
  int uneven;                                  /* blocks differ in size: 1 by their owner, 2 by sender and receiver */
  size_t (*send_bytes)(const struct job* job); /* buffer that the rank needs; NULL: none */
  size_t (*receive_bytes)(const struct job* job);
  void (*fill)(const struct job* job); /* writes the send buffer; NULL: nothing to send */
  /* Calls it, or makes the request of it in the other forms. */
  void (*call)(const struct job* job, enum form form, MPI_Request* request);
  size_t (*differences)(const struct job* job); /* elements or bytes of the receive buffer that are wrong; NULL: none */
};

struct plan {
  int warmup, iterations;
  size_t smallest, largest;
  enum form form;
  int overlap;  /* what is measured: the time of which the rank can compute while the collective goes on */
  size_t total; /* bytes that the repetitions of one size may hand over, all ranks together; at least one repetition */
};

extern const struct operation collectives[]; /* the first six are those that the fabric computes */
extern const size_t collective_count;
extern const struct number numbers[];
extern const size_t number_count;

/* Content of block `owner` of `bytes` bytes, the same wherever it is asked for; NULL when there is no memory. */
const char* pattern(size_t bytes, unsigned owner, unsigned salt);
size_t byte_differences(const char* seen, const char* expected, size_t bytes);

/* Repetitions of a size that hands over `bytes` at each of them. */
int repetitions(const struct plan* plan, size_t bytes);
void* allocate(size_t bytes);

/* Each prints a table at rank 0 and returns how many of the rank's results were wrong. */
size_t measure_collective(const struct operation* operation, struct job job, const struct plan* plan);
size_t measure_latency(const struct plan* plan, int peer);
size_t measure_bandwidth(const struct plan* plan, int peer);

#endif
