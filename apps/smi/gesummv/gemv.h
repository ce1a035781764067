// SPDX-License-Identifier: Apache-2.0
// y = A x, row by row, with W elements per cycle of each of BANKS interleaved banks. Each lane has its own sum; the
// sums are added at the end of a row. GEMV(name, channel_out): a kernel that writes the rows' sums to a channel.
#ifndef BANKS
#define BANKS 4
#endif
#define W 16
#define MOST 16384  // elements of x

#if BANKS == 4
#define VECTORS(at) {bank0[at], bank1[at], bank2[at], bank3[at]}
#else
#define VECTORS(at) {bank0[at], bank1[at]}
#endif

#define GEMV(name, channel_out)                                                                                        \
  __kernel void name(const int rows, const int columns, __global volatile const float16* restrict vector,              \
                     __global volatile const float16* restrict bank0, __global volatile const float16* restrict bank1, \
                     __global volatile const float16* restrict bank2,                                                  \
                     __global volatile const float16* restrict bank3) {                                                \
    const int turns = columns / (BANKS * W);                                                                           \
    float16 x[MOST / W];                                                                                               \
    for (int j = 0; j < columns / W; ++j) x[j] = vector[j];                                                            \
    for (int i = 0; i < rows; ++i) {                                                                                   \
      float16 lanes[BANKS] = {0};                                                                                      \
      for (int j = 0; j < turns; ++j) {                                                                                \
        const float16 a[BANKS] = VECTORS(i * turns + j);                                                               \
        _Pragma("unroll") for (int b = 0; b < BANKS; ++b) lanes[b] += a[b] * x[j * BANKS + b];                         \
        if (j == turns - 1) {                                                                                          \
          float sum = 0;                                                                                               \
          _Pragma("unroll") for (int b = 0; b < BANKS; ++b) {                                                          \
            _Pragma("unroll") for (int w = 0; w < W; ++w) sum += lanes[b][w];                                          \
          }                                                                                                            \
          write_channel_intel(channel_out, sum);                                                                       \
        }                                                                                                              \
      }                                                                                                                \
    }                                                                                                                  \
  }
