# SPDX-License-Identifier: Apache-2.0
"""Kernels of several tests: `app` pushes or pops N elements between ranks 0 and 1."""

from __future__ import annotations

HEAD = "#include <smi.h>\n"
SEND = (
    HEAD
    + """__kernel void app(const int N, SMI_Comm comm) {
  SMI_Channel chs = SMI_Open_send_channel(N, SMI_INT, 1, 0, comm);
  #pragma ii 1
  for (int i = 0; i < N; i++) {
    int data = i * i;
    SMI_Push(&chs, &data);
  }
}
"""
)
RECEIVE = (
    HEAD
    + """__kernel void app(const int N, __global int* out) {
  SMI_Channel chr = SMI_Open_recv_channel(N, SMI_INT, 0, 0, SMI_COMM_WORLD);
  for (int i = 0; i < N; i++) {
    int data;
    SMI_Pop(&chr, &data);
    out[i] = data;
  }
}
"""
)
