// SPDX-License-Identifier: Apache-2.0
// The paper's Figure 5, rank 1. Filled in: __kernel and arguments, the use of the data, the include.
#include <smi.h>

__kernel void Rank1(const int N, __global volatile int *restrict results) {  // filled: results
  SMI_Channel chr = SMI_Open_recv_channel(N, SMI_INT, 0, 0, SMI_COMM_WORLD);  // from rank 0
  #pragma ii 1  // Pipelined loop
  for (int i = 0; i < N; i++) {
    int data;
    SMI_Pop(&chr, &data);
    results[i] = 2 * data + 1;  // filled: do something useful with data
  }
}
