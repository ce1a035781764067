// SPDX-License-Identifier: Apache-2.0
// Random programs: each kernel executes the steps of its port. The step of a message is {count, peer, degree, flush,
// pause}, that of a collective {count, root, first, stride, ranks, pause}: one of `flush` elements is flushed (0:
// none), and in `pause` of ten iterations a kernel pauses. The receiver knows the expected value of element i, which is
// small enough for exact sums.
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
static int combined(int i, int step, int ranks, int op) {
  int all = value(i, step, 0);
#pragma unroll
  for (int rank = 1; rank < ranks; ++rank) {
    const int one = value(i, step, rank);
    all = op == SMI_ADD ? all + one : (op == SMI_MAX) == (one > all) ? one : all;
  }
  return all;
}

// A collective: code of each of the `turns` iterations of a step, on the step's members; `rank` is the rank among them.
#define COLLECTIVE(name, T, open, turns, ...)                                                         \
  __kernel void name##_##T(const int port, const int op, const int steps, __global const int* script, \
                           __global int* wrong, const SMI_Comm comm) {                                \
    int errors = 0;                                                                                   \
    for (int s = 0; s < steps; ++s) {                                                                 \
      __global const int* step = script + 6 * s;                                                      \
      const int count = step[0], root = step[1], ranks = step[4];                                     \
      if (!member(SMI_Comm_rank(comm), step[2], step[3], ranks)) continue;                            \
      const SMI_Comm some = SMI_Comm_range(comm, step[2], step[3], ranks);                            \
      const int rank = SMI_Comm_rank(some);                                                           \
      open;                                                                                           \
      for (int i = 0; i < (turns); ++i) {                                                             \
        T given, got = 100;                                                                           \
        __VA_ARGS__                                                                                   \
        rest(i, step[5]);                                                                             \
      }                                                                                               \
    }                                                                                                 \
    *wrong = errors;                                                                                  \
  }

#define KERNELS(T, TYPE)                                                                                               \
  __kernel void sends_##T(const int port, const int steps, __global const int* script, const SMI_Comm comm) {          \
    for (int s = 0; s < steps; ++s) {                                                                                  \
      __global const int* step = script + 5 * s;                                                                       \
      SMI_Channel channel = SMI_Open_send_channel_ad(step[0], TYPE, step[1], port, comm, step[2]);                     \
      for (int i = 0; i < step[0]; ++i) {                                                                              \
        T data = (T)value(i, s, port);                                                                                 \
        if (step[3])                                                                                                   \
          SMI_Push_flush(&channel, &data, i % step[3] == 0);                                                           \
        else                                                                                                           \
          SMI_Push(&channel, &data);                                                                                   \
        rest(i, step[4]);                                                                                              \
      }                                                                                                                \
    }                                                                                                                  \
  }                                                                                                                    \
  __kernel void takes_##T(const int port, const int steps, __global const int* script, __global int* wrong,            \
                          const SMI_Comm comm) {                                                                       \
    int errors = 0;                                                                                                    \
    for (int s = 0; s < steps; ++s) {                                                                                  \
      __global const int* step = script + 5 * s;                                                                       \
      SMI_Channel channel = SMI_Open_receive_channel_ad(step[0], TYPE, step[1], port, comm, step[2]);                  \
      for (int i = 0; i < step[0]; ++i) {                                                                              \
        T data;                                                                                                        \
        SMI_Pop(&channel, &data);                                                                                      \
        errors += data != (T)value(i, s, port);                                                                        \
        rest(i, step[4]);                                                                                              \
      }                                                                                                                \
    }                                                                                                                  \
    *wrong = errors;                                                                                                   \
  }                                                                                                                    \
  COLLECTIVE(broadcasts, T, SMI_BChannel channel = SMI_Open_bcast_channel(count, TYPE, port, root, some), count,       \
             given = rank == root ? (T)value(i, s, 0) : got;                                                           \
             SMI_Bcast(&channel, &given); errors += given != (T)value(i, s, 0);)                                       \
  COLLECTIVE(scatters, T, SMI_ScatterChannel channel = SMI_Open_scatter_channel(count, count, TYPE, port, root, some), \
             rank == root ? count * ranks : count, given = (T)value(i % count, s, i / count);                          \
             SMI_Scatter(&channel, &given, &got);                                                                      \
             if (rank != root || i / count == rank) errors += got != (T)value(i % count, s, rank);)                    \
  COLLECTIVE(gathers, T, SMI_GatherChannel channel = SMI_Open_gather_channel(count, count, TYPE, port, root, some),    \
             rank == root ? count * ranks : count, given = (T)value(i % count, s, rank);                               \
             SMI_Gather(&channel, &given, &got);                                                                       \
             if (rank == root) errors += got != (T)value(i % count, s, i / count);)                                    \
  COLLECTIVE(reduces, T, SMI_RChannel channel = SMI_Open_reduce_channel(count, TYPE, (SMI_Op)op, port, root, some),    \
             count, given = (T)value(i, s, rank);                                                                      \
             SMI_Reduce(&channel, &given, &got); if (rank == root) errors += got != (T)combined(i, s, ranks, op);)

KERNELS(int, SMI_INT)
KERNELS(float, SMI_FLOAT)
KERNELS(double, SMI_DOUBLE)
KERNELS(char, SMI_CHAR)
KERNELS(short, SMI_SHORT)
