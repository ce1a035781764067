// SPDX-License-Identifier: Apache-2.0
// The paper's Figure 6. Filled in: __kernel and the last arguments, the root's data and their use, the include. Kept:
// an int for a channel of floats, which causes a warning; the bits are sent unchanged.
#include <smi.h>

__kernel void App(int N, int root, SMI_Comm comm, __global volatile const int *restrict values,
                  __global volatile int *restrict results) {  // filled: values, results
  SMI_BChannel chan = SMI_Open_bcast_channel(
      N, SMI_FLOAT, 0, root, comm);
  int my_rank = SMI_Comm_rank(comm);
  for (int i = 0; i < N; i++) {
    int data;
    if (my_rank == root)
      data = values[i];  // filled: create or load interesting data
    SMI_Bcast(&chan, &data);
    results[i] = data;  // filled: do something useful with data
  }
}
