// SPDX-License-Identifier: Apache-2.0
// Programs that are drawn by chance: each kernel goes through the steps of its port. A step of a message is {count, peer, degree, flush,
// pause}, of a collective {count, root, first, stride, ranks, pause}: one element of `flush` is flushed, none where that is 0, and in
// `pause` of ten turns a kernel rests. Element i of a step is a number that its taker knows, small enough that sums are exact.
#include <smi.h>

static int value(int i, int step, int rank) {
  return (i * 7 + step * 5 + rank * 3) % 13 - 6;
}
static void rest(int i, int pause) {
  for (int turn = 0; turn < (i % 10 < pause ? i % 7 : 0); ++turn);
}
static int member(int rank, int first, int stride, int ranks) {
  return rank >= first && (rank - first) % stride == 0 && (rank - first) / stride < ranks;
}

#define KERNELS(T, TYPE)                                                                                         \
  __kernel void sends_##T(const int port, const int steps, __global const int* script, const SMI_Comm comm) {    \
    for (int s = 0; s < steps; ++s) {                                                                            \
      __global const int* step = script + 5 * s;                                                                 \
      SMI_Channel channel = SMI_Open_send_channel_ad(step[0], TYPE, step[1], port, comm, step[2]);               \
      for (int i = 0; i < step[0]; ++i) {                                                                        \
        T data = (T)value(i, s, port);                                                                           \
        if (step[3])                                                                                             \
          SMI_Push_flush(&channel, &data, i % step[3] == 0);                                                     \
        else                                                                                                     \
          SMI_Push(&channel, &data);                                                                             \
        rest(i, step[4]);                                                                                        \
      }                                                                                                          \
    }                                                                                                            \
  }                                                                                                              \
  __kernel void takes_##T(const int port, const int steps, __global const int* script, __global int* wrong,      \
                          const SMI_Comm comm) {                                                                 \
    int errors = 0;                                                                                              \
    for (int s = 0; s < steps; ++s) {                                                                            \
      __global const int* step = script + 5 * s;                                                                 \
      SMI_Channel channel = SMI_Open_receive_channel_ad(step[0], TYPE, step[1], port, comm, step[2]);            \
      for (int i = 0; i < step[0]; ++i) {                                                                        \
        T data;                                                                                                  \
        SMI_Pop(&channel, &data);                                                                                \
        errors += data != (T)value(i, s, port);                                                                  \
        rest(i, step[4]);                                                                                        \
      }                                                                                                          \
    }                                                                                                            \
    *wrong = errors;                                                                                             \
  }                                                                                                              \
  __kernel void broadcasts_##T(const int port, const int steps, __global const int* script, __global int* wrong, \
                               const SMI_Comm comm) {                                                            \
    int errors = 0;                                                                                              \
    for (int s = 0; s < steps; ++s) {                                                                            \
      __global const int* step = script + 6 * s;                                                                 \
      if (!member(SMI_Comm_rank(comm), step[2], step[3], step[4])) continue;                                     \
      SMI_Comm some = SMI_Comm_range(comm, step[2], step[3], step[4]);                                           \
      SMI_BChannel channel = SMI_Open_bcast_channel(step[0], TYPE, port, step[1], some);                         \
      for (int i = 0; i < step[0]; ++i) {                                                                        \
        T data = SMI_Comm_rank(some) == step[1] ? (T)value(i, s, 0) : (T)100;                                    \
        SMI_Bcast(&channel, &data);                                                                              \
        errors += data != (T)value(i, s, 0);                                                                     \
        rest(i, step[5]);                                                                                        \
      }                                                                                                          \
    }                                                                                                            \
    *wrong = errors;                                                                                             \
  }                                                                                                              \
  __kernel void scatters_##T(const int port, const int steps, __global const int* script, __global int* wrong,   \
                             const SMI_Comm comm) {                                                              \
    int errors = 0;                                                                                              \
    for (int s = 0; s < steps; ++s) {                                                                            \
      __global const int* step = script + 6 * s;                                                                 \
      if (!member(SMI_Comm_rank(comm), step[2], step[3], step[4])) continue;                                     \
      SMI_Comm some = SMI_Comm_range(comm, step[2], step[3], step[4]);                                           \
      const int rank = SMI_Comm_rank(some), count = step[0];                                                     \
      SMI_ScatterChannel channel = SMI_Open_scatter_channel(count, count, TYPE, port, step[1], some);            \
      for (int i = 0; i < (rank == step[1] ? count * step[4] : count); ++i) {                                    \
        T data = (T)value(i % count, s, i / count), part = 100;                                                  \
        SMI_Scatter(&channel, &data, &part);                                                                     \
        if (rank != step[1] || i / count == rank) errors += part != (T)value(i % count, s, rank);                \
        rest(i, step[5]);                                                                                        \
      }                                                                                                          \
    }                                                                                                            \
    *wrong = errors;                                                                                             \
  }                                                                                                              \
  __kernel void gathers_##T(const int port, const int steps, __global const int* script, __global int* wrong,    \
                            const SMI_Comm comm) {                                                               \
    int errors = 0;                                                                                              \
    for (int s = 0; s < steps; ++s) {                                                                            \
      __global const int* step = script + 6 * s;                                                                 \
      if (!member(SMI_Comm_rank(comm), step[2], step[3], step[4])) continue;                                     \
      SMI_Comm some = SMI_Comm_range(comm, step[2], step[3], step[4]);                                           \
      const int rank = SMI_Comm_rank(some), count = step[0];                                                     \
      SMI_GatherChannel channel = SMI_Open_gather_channel(count, count, TYPE, port, step[1], some);              \
      for (int i = 0; i < (rank == step[1] ? count * step[4] : count); ++i) {                                    \
        T data = (T)value(i % count, s, rank), part = 100;                                                       \
        SMI_Gather(&channel, &data, &part);                                                                      \
        if (rank == step[1]) errors += part != (T)value(i % count, s, i / count);                                \
        rest(i, step[5]);                                                                                        \
      }                                                                                                          \
    }                                                                                                            \
    *wrong = errors;                                                                                             \
  }                                                                                                              \
  __kernel void reduces_##T(const int port, const int op, const int steps, __global const int* script,           \
                            __global int* wrong, const SMI_Comm comm) {                                          \
    int errors = 0;                                                                                              \
    for (int s = 0; s < steps; ++s) {                                                                            \
      __global const int* step = script + 6 * s;                                                                 \
      if (!member(SMI_Comm_rank(comm), step[2], step[3], step[4])) continue;                                     \
      SMI_Comm some = SMI_Comm_range(comm, step[2], step[3], step[4]);                                           \
      SMI_RChannel channel = SMI_Open_reduce_channel(step[0], TYPE, (SMI_Op)op, port, step[1], some);            \
      for (int i = 0; i < step[0]; ++i) {                                                                        \
        T data = (T)value(i, s, SMI_Comm_rank(some)), result = 100;                                              \
        SMI_Reduce(&channel, &data, &result);                                                                    \
        int right = value(i, s, 0);                                                                              \
        _Pragma("unroll") for (int r = 1; r < step[4]; ++r) {                                                    \
          const int one = value(i, s, r);                                                                        \
          right = op == SMI_ADD ? right + one : (op == SMI_MAX) == (one > right) ? one : right;                  \
        }                                                                                                        \
        if (SMI_Comm_rank(some) == step[1]) errors += result != (T)right;                                        \
        rest(i, step[5]);                                                                                        \
      }                                                                                                          \
    }                                                                                                            \
    *wrong = errors;                                                                                             \
  }

KERNELS(int, SMI_INT)
KERNELS(float, SMI_FLOAT)
KERNELS(double, SMI_DOUBLE)
KERNELS(char, SMI_CHAR)
KERNELS(short, SMI_SHORT)
