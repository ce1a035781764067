// SPDX-License-Identifier: Apache-2.0
// A 4-point stencil on a grid of ranks with NX rows of NY points each. A rank's points are interleaved over B banks in
// vectors of W, and each bank delivers W points per cycle. The border of the whole domain is constant.
//
//   read ──> compute ──> write         Inputs of read and compute: the neighbours' rows and columns, from the host in
//   the
//    ▲                     │           first step, then from SMI. write sends the rank's edges. A neighbour is at most
//    two
//   from_*                to_*         halos ahead, and channels have room for two, so arriving halos are always
//   accepted,
//                                      however slow a link is, and block no packets behind them.
//
// Ports are the directions of messages: 0 north, 1 east, 2 south, 3 west.
#include <smi.h>

#ifndef B
#define B 4
#endif
#define W 16
#define V (B * W)
#define COLUMNS (NY / V)  // columns of vectors

channel float16 cells[B] __attribute__((depth(64)));
channel float16 results[B] __attribute__((depth(64)));
channel float16 from_north[B] __attribute__((depth(2 * COLUMNS)));
channel float16 from_south[B] __attribute__((depth(2 * COLUMNS)));
channel float from_west __attribute__((depth(2 * NX)));
channel float from_east __attribute__((depth(2 * NX)));
channel float16 to_north[B] __attribute__((depth(COLUMNS)));
channel float16 to_south[B] __attribute__((depth(COLUMNS)));
channel float to_west __attribute__((depth(NX)));
channel float to_east __attribute__((depth(NX)));
channel int written __attribute__((depth(NX)));  // rows in memory, for the next step

#define BANKS                                                                                                   \
  __global volatile BANK_TYPE *restrict bank0, __global volatile BANK_TYPE *restrict bank1,                     \
      __global volatile BANK_TYPE *restrict bank2, __global volatile BANK_TYPE *restrict bank3

// A bank has the points of even steps, followed by those of odd steps.
#define BANK_TYPE const float16
__kernel void read(const int steps, const int rows, const int columns, const int rank, BANKS) {
  const bool north = rank / columns > 0, south = rank / columns < rows - 1;
  for (int t = 0; t < steps; ++t) {
    const int first = t % 2 * NX * COLUMNS;
    for (int i = -1; i <= NX; ++i) {
      for (int j = 0; j < COLUMNS; ++j) {
        float16 value[B];
        if (i < 0 || i == NX) {
          #pragma unroll
          for (int b = 0; b < B; ++b) {
            value[b] = 0;
            if (i < 0 && north) value[b] = read_channel_intel(from_north[b]);
            if (i == NX && south) value[b] = read_channel_intel(from_south[b]);
          }
        } else {
          if (t > 0 && j == 0) read_channel_intel(written);
          const int at = first + i * COLUMNS + j;
          value[0] = bank0[at];
#if B == 4
          value[1] = bank1[at];
          value[2] = bank2[at];
          value[3] = bank3[at];
#endif
        }
        #pragma unroll
        for (int b = 0; b < B; ++b) write_channel_intel(cells[b], value[b]);
      }
    }
  }
}
#undef BANK_TYPE

__kernel void compute(const int steps, const int rows, const int columns, const int rank) {
  const bool north = rank / columns > 0, south = rank / columns < rows - 1;
  const bool west = rank % columns > 0, east = rank % columns < columns - 1;
  // A shift register of two rows, which shifts by one vector per iteration.
  float16 above[COLUMNS][B], middle[COLUMNS][B];
  for (int t = 0; t < steps; ++t) {
    for (int i = -1; i <= NX; ++i) {
      float left = 0;
      for (int j = 0; j < COLUMNS; ++j) {
        float16 below[B], result[B];
        #pragma unroll
        for (int b = 0; b < B; ++b) below[b] = read_channel_intel(cells[b]);
        if (i > 0) {
          float point[V + 2];
          if (j == 0 && west) left = read_channel_intel(from_west);
          point[0] = left;
          #pragma unroll
          for (int v = 0; v < V; ++v) point[1 + v] = middle[j][v / W][v % W];
          point[V + 1] = 0;
          if (j < COLUMNS - 1) point[V + 1] = middle[j + 1][0][0];
          if (j == COLUMNS - 1 && east) point[V + 1] = read_channel_intel(from_east);
          const bool edge = (i == 1 && !north) || (i == NX && !south);
          #pragma unroll
          for (int v = 0; v < V; ++v) {
            const float sum = ((above[j][v / W][v % W] + point[v]) + point[v + 2]) + below[v / W][v % W];
            result[v / W][v % W] = 0.25f * sum;
          }
          if (j == 0 && !west) result[0][0] = point[1];
          if (j == COLUMNS - 1 && !east) result[B - 1][W - 1] = point[V];
          left = point[V];
          #pragma unroll
          for (int b = 0; b < B; ++b) write_channel_intel(results[b], edge ? middle[j][b] : result[b]);
        }
        #pragma unroll
        for (int b = 0; b < B; ++b) {
          above[j][b] = middle[j][b];
          middle[j][b] = below[b];
        }
      }
    }
  }
}

#define BANK_TYPE float16
__kernel void write(const int steps, const int rows, const int columns, const int rank, BANKS) {
  const bool north = rank / columns > 0, south = rank / columns < rows - 1;
  const bool west = rank % columns > 0, east = rank % columns < columns - 1;
  for (int t = 0; t < steps; ++t) {
    const int first = (t + 1) % 2 * NX * COLUMNS;
    const bool more = t < steps - 1;
    for (int i = 0; i < NX; ++i) {
      for (int j = 0; j < COLUMNS; ++j) {
        float16 value[B];
        #pragma unroll
        for (int b = 0; b < B; ++b) {
          value[b] = read_channel_intel(results[b]);
          if (more && north && i == 0) write_channel_intel(to_north[b], value[b]);
          if (more && south && i == NX - 1) write_channel_intel(to_south[b], value[b]);
        }
        if (more && west && j == 0) write_channel_intel(to_west, value[0][0]);
        if (more && east && j == COLUMNS - 1) write_channel_intel(to_east, value[B - 1][W - 1]);
        const int at = first + i * COLUMNS + j;
        bank0[at] = value[0];
#if B == 4
        bank1[at] = value[1];
        bank2[at] = value[2];
        bank3[at] = value[3];
#endif
        if (more && j == COLUMNS - 1) write_channel_intel(written, i);
      }
    }
  }
}

#define ARGUMENTS const int steps, const int rows, const int columns, const int rank

// Halos move one element per cycle: rows are packed to vectors, columns are elements.
#define RECEIVE_ROW(name, channels, there, peer, port)                                              \
  __kernel void name(ARGUMENTS, __global volatile const float *restrict first) {                    \
    if (!(there)) return;                                                                           \
    for (int t = 0; t < steps; ++t) {                                                               \
      SMI_Channel halo = SMI_Open_recv_channel(NY, SMI_FLOAT, peer, port, SMI_COMM_WORLD);          \
      float16 vector[B];                                                                            \
      for (int k = 0; k < NY; ++k) {                                                                \
        float value;                                                                                \
        if (t == 0)                                                                                 \
          value = first[k];                                                                         \
        else                                                                                        \
          SMI_Pop(&halo, &value);                                                                   \
        vector[k % V / W][k % W] = value;                                                           \
        if (k % V == V - 1) {                                                                       \
          _Pragma("unroll") for (int b = 0; b < B; ++b) write_channel_intel(channels[b], vector[b]); \
        }                                                                                           \
      }                                                                                             \
    }                                                                                               \
  }
RECEIVE_ROW(receive_north, from_north, rank / columns > 0, rank - columns, 2)
RECEIVE_ROW(receive_south, from_south, rank / columns < rows - 1, rank + columns, 0)

#define RECEIVE_COLUMN(name, channel_in, there, peer, port)                                \
  __kernel void name(ARGUMENTS, __global volatile const float *restrict first) {           \
    if (!(there)) return;                                                                  \
    for (int t = 0; t < steps; ++t) {                                                      \
      SMI_Channel halo = SMI_Open_recv_channel(NX, SMI_FLOAT, peer, port, SMI_COMM_WORLD); \
      for (int k = 0; k < NX; ++k) {                                                       \
        float value;                                                                       \
        if (t == 0)                                                                        \
          value = first[k];                                                                \
        else                                                                               \
          SMI_Pop(&halo, &value);                                                          \
        write_channel_intel(channel_in, value);                                            \
      }                                                                                    \
    }                                                                                      \
  }
RECEIVE_COLUMN(receive_west, from_west, rank % columns > 0, rank - 1, 1)
RECEIVE_COLUMN(receive_east, from_east, rank % columns < columns - 1, rank + 1, 3)

#define SEND_ROW(name, channels, there, peer, port)                                                    \
  __kernel void name(ARGUMENTS) {                                                                      \
    if (!(there)) return;                                                                              \
    for (int t = 1; t < steps; ++t) {                                                                  \
      SMI_Channel halo = SMI_Open_send_channel(NY, SMI_FLOAT, peer, port, SMI_COMM_WORLD);             \
      float16 vector[B];                                                                               \
      for (int k = 0; k < NY; ++k) {                                                                   \
        if (k % V == 0) {                                                                              \
          _Pragma("unroll") for (int b = 0; b < B; ++b) vector[b] = read_channel_intel(channels[b]);    \
        }                                                                                              \
        float value = vector[k % V / W][k % W];                                                        \
        SMI_Push(&halo, &value);                                                                       \
      }                                                                                                \
    }                                                                                                  \
  }
SEND_ROW(send_north, to_north, rank / columns > 0, rank - columns, 0)
SEND_ROW(send_south, to_south, rank / columns < rows - 1, rank + columns, 2)

#define SEND_COLUMN(name, channel_out, there, peer, port)                                  \
  __kernel void name(ARGUMENTS) {                                                          \
    if (!(there)) return;                                                                  \
    for (int t = 1; t < steps; ++t) {                                                      \
      SMI_Channel halo = SMI_Open_send_channel(NX, SMI_FLOAT, peer, port, SMI_COMM_WORLD); \
      for (int k = 0; k < NX; ++k) {                                                       \
        float value = read_channel_intel(channel_out);                                     \
        SMI_Push(&halo, &value);                                                           \
      }                                                                                    \
    }                                                                                      \
  }
SEND_COLUMN(send_west, to_west, rank % columns > 0, rank - 1, 3)
SEND_COLUMN(send_east, to_east, rank % columns < columns - 1, rank + 1, 1)
