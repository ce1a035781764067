// SPDX-License-Identifier: Apache-2.0
// y = alpha A x + beta B x on one rank: two concurrent GEMVs, each with half of the banks.
#define BANKS 2
#include "gemv.h"

channel float first __attribute__((depth(64)));
channel float second __attribute__((depth(64)));

GEMV(gemv_a, first)
GEMV(gemv_b, second)

__kernel void add(const int rows, const float alpha, const float beta, __global volatile float* restrict y) {
  for (int i = 0; i < rows; ++i) y[i] = alpha * read_channel_intel(first) + beta * read_channel_intel(second);
}
