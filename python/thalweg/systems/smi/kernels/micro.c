// SPDX-License-Identifier: Apache-2.0
// Kernels that thalweg bench and thalweg reproduce measure on SMI clusters. The receiver knows the expected value of
// element i.
#include <smi.h>

typedef ELEMENT element;

static element value(int i, int rank) {
  return (element)((i * 7 + rank * 3) % 101);
}

// A message between two kernels at their own port; ports must be constants.
#define PAIR(port)                                                                                    \
  __kernel void sends_##port(const int n, const int peer, const SMI_Comm comm) {                      \
    SMI_Channel channel = SMI_Open_send_channel(n, TYPE, peer, port, comm);                           \
    for (int i = 0; i < n; ++i) {                                                                     \
      element data = value(i, port);                                                                  \
      SMI_Push(&channel, &data);                                                                      \
    }                                                                                                 \
  }                                                                                                   \
  __kernel void takes_##port(const int n, const int peer, __global int* wrong, const SMI_Comm comm) { \
    SMI_Channel channel = SMI_Open_receive_channel(n, TYPE, peer, port, comm);                        \
    int errors = 0;                                                                                   \
    for (int i = 0; i < n; ++i) {                                                                     \
      element data;                                                                                   \
      SMI_Pop(&channel, &data);                                                                       \
      errors += data != value(i, port);                                                               \
    }                                                                                                 \
    *wrong = errors;                                                                                  \
  }
PAIR(0)
PAIR(1)
PAIR(2)
PAIR(3)

// Sends one element after `wait` cycles.
__kernel void sends_late(const int wait, const int peer, const SMI_Comm comm) {
  for (int i = 0; i < wait; ++i) {
  }
  element data = value(0, 1);
  SMI_Channel channel = SMI_Open_send_channel(1, TYPE, peer, 1, comm);
  SMI_Push(&channel, &data);
}

// Ping-pong of one element with another rank.
__kernel void asks(const int rounds, const int peer, __global int* wrong, const SMI_Comm comm) {
  int errors = 0;
  for (int i = 0; i < rounds; ++i) {
    element data = value(i, 0), back;
    SMI_Channel there = SMI_Open_send_channel(1, TYPE, peer, 0, comm);
    SMI_Push(&there, &data);
    SMI_Channel here = SMI_Open_receive_channel(1, TYPE, peer, 1, comm);
    SMI_Pop(&here, &back);
    errors += back != data;
  }
  *wrong = errors;
}
__kernel void answers(const int rounds, const int peer, const SMI_Comm comm) {
  for (int i = 0; i < rounds; ++i) {
    element data;
    SMI_Channel here = SMI_Open_receive_channel(1, TYPE, peer, 0, comm);
    SMI_Pop(&here, &data);
    SMI_Channel there = SMI_Open_send_channel(1, TYPE, peer, 1, comm);
    SMI_Push(&there, &data);
  }
}

// One message of one element per iteration.
__kernel void injects(const int n, const int peer, const SMI_Comm comm) {
  for (int i = 0; i < n; ++i) {
    element data = value(i, 0);
    SMI_Channel channel = SMI_Open_send_channel(1, TYPE, peer, 0, comm);
    SMI_Push(&channel, &data);
  }
}
__kernel void collects(const int n, const int peer, __global int* wrong, const SMI_Comm comm) {
  int errors = 0;
  for (int i = 0; i < n; ++i) {
    element data;
    SMI_Channel channel = SMI_Open_receive_channel(1, TYPE, peer, 0, comm);
    SMI_Pop(&channel, &data);
    errors += data != value(i, 0);
  }
  *wrong = errors;
}

__kernel void broadcasts(const int n, const int root, __global int* wrong, const SMI_Comm comm) {
  SMI_BChannel channel = SMI_Open_bcast_channel(n, TYPE, 0, root, comm);
  const int rank = SMI_Comm_rank(comm);
  int errors = 0;
  for (int i = 0; i < n; ++i) {
    element data = rank == root ? value(i, root) : (element)0;
    SMI_Bcast(&channel, &data);
    errors += data != value(i, root);
  }
  *wrong = errors;
}
__kernel void reduces(const int n, const int root, __global int* wrong, const SMI_Comm comm) {
  SMI_RChannel channel = SMI_Open_reduce_channel(n, TYPE, SMI_ADD, 0, root, comm);
  const int rank = SMI_Comm_rank(comm), size = SMI_Comm_size(comm);
  int errors = 0;
  for (int i = 0; i < n; ++i) {
    element data = value(i, rank), sum = 0;
    SMI_Reduce(&channel, &data, &sum);
    element right = 0;
#pragma unroll /* the check takes no cycles */
    for (int r = 0; r < size; ++r) right += value(i, r);
    if (rank == root) errors += sum != right;
  }
  *wrong = errors;
}
__kernel void scatters(const int n, const int root, __global int* wrong, const SMI_Comm comm) {
  SMI_ScatterChannel channel = SMI_Open_scatter_channel(n, n, TYPE, 0, root, comm);
  const int rank = SMI_Comm_rank(comm), size = SMI_Comm_size(comm);
  int errors = 0;
  for (int i = 0; i < (rank == root ? n * size : n); ++i) {
    element data = value(i % n, i / n), part = 0;
    SMI_Scatter(&channel, &data, &part);
    const int own = rank == root ? i / n == rank : 1;
    if (own) errors += part != value(i % n, rank);
  }
  *wrong = errors;
}
__kernel void gathers(const int n, const int root, __global int* wrong, const SMI_Comm comm) {
  SMI_GatherChannel channel = SMI_Open_gather_channel(n, n, TYPE, 0, root, comm);
  const int rank = SMI_Comm_rank(comm), size = SMI_Comm_size(comm);
  int errors = 0;
  for (int i = 0; i < (rank == root ? n * size : n); ++i) {
    element data = value(i % n, rank), part = 0;
    SMI_Gather(&channel, &data, &part);
    if (rank == root) errors += part != value(i % n, i / n);
  }
  *wrong = errors;
}
