// SPDX-License-Identifier: Apache-2.0
/* Partitioned allreduce and broadcast, modelled on MPI's partitioned messages: a rank marks each partition of its buffer
 * as ready, and the partition is transferred while the rank computes the next one.
 *
 *   MPIX_Prequest request;
 *   MPIX_Pallreduce_init(send, receive, partitions, count, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, &request);
 *   for (...) {
 *     MPIX_Pstart(&request);
 *     for (int i = 0; i < partitions; i++) { compute(send, i); MPIX_Pready(i, &request); }
 *     MPIX_Pwait(&request);
 *   }
 *   MPIX_Prequest_free(&request);
 *
 * No MPI library provides these. This header implements them with non-blocking collectives (MPI 4's large counts), one per
 * partition, on a duplicate of the communicator, so it needs no library and works with any MPI; with `thalweg run` each
 * partition is computed in the network. Partitions may become ready in any order, which may differ between ranks. They are
 * started in ascending order, because all ranks must call collectives in the same order: a partition starts once it and all
 * before it are ready. Every function returns MPI's error code. */
#ifndef THALWEG_MPIX_H
#define THALWEG_MPIX_H

#include <mpi.h>
#include <stdlib.h>

typedef struct {
  const void* send; /* allreduce only */
  void* receive;
  MPI_Count count;
  MPI_Datatype type;
  MPI_Op op;
  int root;           /* of a broadcast; -1: allreduce */
  MPI_Comm comm;      /* a duplicate, independent of the program's own collectives */
  MPI_Request* parts; /* one per partition */
  char* ready;
  int partitions;
  int started; /* number of partitions started, in ascending order */
} MPIX_Prequest;

static inline int MPIX_Prequest_make_(int partitions, MPI_Comm comm, MPIX_Prequest* request) {
  request->partitions = request->started = partitions;
  request->parts = partitions > 0 ? (MPI_Request*)malloc((size_t)partitions * sizeof(MPI_Request)) : NULL;
  request->ready = partitions > 0 ? (char*)calloc((size_t)partitions, 1) : NULL;
  if (!request->parts || !request->ready) return MPI_ERR_ARG;
  for (int i = 0; i < partitions; ++i) request->parts[i] = MPI_REQUEST_NULL;
  return MPI_Comm_dup(comm, &request->comm);
}

/* Each of the `partitions` partitions has `count` elements; they are contiguous in the buffers. `send` may be MPI_IN_PLACE. */
static inline int MPIX_Pallreduce_init(const void* send, void* receive, int partitions, MPI_Count count,
                                       MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Info info,
                                       MPIX_Prequest* request) {
  (void)info;
  request->send = send;
  request->receive = receive;
  request->count = count;
  request->type = type;
  request->op = op;
  request->root = -1;
  return MPIX_Prequest_make_(partitions, comm, request);
}

/* Only the root marks partitions as ready; on other ranks all are ready from the start. */
static inline int MPIX_Pbcast_init(void* buffer, int partitions, MPI_Count count, MPI_Datatype type, int root,
                                   MPI_Comm comm, MPI_Info info, MPIX_Prequest* request) {
  int error = MPIX_Pallreduce_init(NULL, buffer, partitions, count, type, MPI_OP_NULL, comm, info, request), rank = -1;
  MPI_Comm_rank(comm, &rank);
  request->root = root;
  for (int i = 0; error == MPI_SUCCESS && i < partitions; ++i) request->ready[i] = rank == root ? 0 : 2; /* 2: always */
  return error;
}

static inline int MPIX_Pgo_on_(MPIX_Prequest* request) {
  MPI_Count lower, extent;
  int error = MPI_Type_get_extent_x(request->type, &lower, &extent);
  while (error == MPI_SUCCESS && request->started < request->partitions && request->ready[request->started]) {
    MPI_Count offset = request->started * request->count * extent;
    MPI_Request* part = &request->parts[request->started++];
    char* to = (char*)request->receive + offset;
    const void* from = request->send == MPI_IN_PLACE ? request->send : (const char*)request->send + offset;
    error = request->root < 0
                ? MPI_Iallreduce_c(from, to, request->count, request->type, request->op, request->comm, part)
                : MPI_Ibcast_c(to, request->count, request->type, request->root, request->comm, part);
  }
  return error;
}

static inline int MPIX_Pstart(MPIX_Prequest* request) {
  for (int i = 0; i < request->partitions; ++i) request->ready[i] &= 2;
  request->started = 0;
  return MPIX_Pgo_on_(request);
}

static inline int MPIX_Pready(int partition, MPIX_Prequest* request) {
  if (partition < 0 || partition >= request->partitions) return MPI_ERR_ARG;
  request->ready[partition] |= 1;
  return MPIX_Pgo_on_(request);
}

/* Sets `*flag` if the partition's result is in the buffer. */
static inline int MPIX_Parrived(MPIX_Prequest* request, int partition, int* flag) {
  *flag = 0;
  if (partition < 0 || partition >= request->partitions) return MPI_ERR_ARG;
  return partition < request->started ? MPI_Test(&request->parts[partition], flag, MPI_STATUS_IGNORE) : MPI_SUCCESS;
}

/* Waits for all partitions, each of which must be marked ready. */
static inline int MPIX_Pwait(MPIX_Prequest* request) {
  if (request->started < request->partitions) return MPI_ERR_PENDING;
  return MPI_Waitall(request->partitions, request->parts, MPI_STATUSES_IGNORE);
}

static inline int MPIX_Prequest_free(MPIX_Prequest* request) {
  free(request->parts);
  free(request->ready);
  request->partitions = request->started = 0;
  return MPI_Comm_free(&request->comm);
}

#endif
