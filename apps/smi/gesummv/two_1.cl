// SPDX-License-Identifier: Apache-2.0
// y = alpha A x + beta B x on two ranks: rank 1 has B in all its banks, and adds the product from rank 0.
#include <smi.h>

#include "gemv.h"

channel float second __attribute__((depth(64)));

GEMV(gemv_b, second)

__kernel void add(const int rows, const float alpha, const float beta, __global volatile float* restrict y,
                  const SMI_Comm comm) {
  SMI_Channel sums = SMI_Open_recv_channel(rows, SMI_FLOAT, 0, 0, comm);
  for (int i = 0; i < rows; ++i) {
    float first;
    SMI_Pop(&sums, &first);
    y[i] = alpha * first + beta * read_channel_intel(second);
  }
}
