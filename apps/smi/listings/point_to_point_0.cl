// SPDX-License-Identifier: Apache-2.0
// The paper's Figure 5, rank 0. Filled in: __kernel and arguments, the data to send, the include.
#include <smi.h>

__kernel void Rank0(const int N, __global volatile const int *restrict values) {  // filled: values
  SMI_Channel chs = SMI_Open_send_channel(N, SMI_INT, 1, 0, SMI_COMM_WORLD);  // to rank 1
  #pragma ii 1  // Pipelined loop
  for (int i = 0; i < N; i++) {
    int data = values[i];  // filled: create or load interesting data
    SMI_Push(&chs, &data);
  }
}
