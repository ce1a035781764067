// SPDX-License-Identifier: Apache-2.0
// y = alpha A x + beta B x on two ranks: rank 0 has A in all its banks, and sends the product to rank 1.
#include <smi.h>

#include "gemv.h"

channel float first __attribute__((depth(64)));

GEMV(gemv_a, first)

__kernel void send(const int rows, const SMI_Comm comm) {
  SMI_Channel sums = SMI_Open_send_channel(rows, SMI_FLOAT, 1, 0, comm);
  for (int i = 0; i < rows; ++i) {
    float sum = read_channel_intel(first);
    SMI_Push(&sums, &sum);
  }
}
