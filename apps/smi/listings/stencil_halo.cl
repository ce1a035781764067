// SPDX-License-Identifier: Apache-2.0
// The paper's Figure 17: each rank reads its own points from memory, and halo points from its neighbours. Filled in and
// marked: other channels and halos, corners, the neighbours' sending side, and a kernel that reads the stream.
#include <smi.h>

#define h_x 1  // filled: widths of halos
#define h_y 1

channel float to_kernel __attribute__((depth(64)));  // filled

__kernel void Read(const int T, const int N_x, const int N_y, const int RX, const int RY, const int rank,
                   __global volatile const float *restrict memory) {  // filled: arguments
  for (int t = 0; t < T; t++) {
    int num_elems = h_y * (N_x - 2 * h_x);  // Size of halo region
    int r_x = rank / RY;                    // Rank coordinates
    int r_y = rank % RY;
    SMI_Channel recv_west = SMI_Open_recv_channel(
        num_elems, SMI_FLOAT, r_x * RY + (r_y - 1), 1,
        SMI_COMM_WORLD);
    SMI_Channel recv_east = SMI_Open_recv_channel(
        num_elems, SMI_FLOAT, r_x * RY + (r_y + 1), 2,
        SMI_COMM_WORLD);
    // filled: open remaining channels
    int num_elems_x = h_x * (N_y - 2 * h_y);
    SMI_Channel recv_north = SMI_Open_recv_channel(
        num_elems_x, SMI_FLOAT, (r_x - 1) * RY + r_y, 3,
        SMI_COMM_WORLD);
    SMI_Channel recv_south = SMI_Open_recv_channel(
        num_elems_x, SMI_FLOAT, (r_x + 1) * RY + r_y, 4,
        SMI_COMM_WORLD);
    for (int i = 0; i < N_x; i++) {    // Pipelined
      for (int j = 0; j < N_y; j++) {  // region
        float value;
        bool on_corner = (i < h_x || i >= N_x - h_x) && (j < h_y || j >= N_y - h_y);  // filled
        if (r_y > 0 && j < h_y && !on_corner) {  // On left
          SMI_Pop(&recv_west, &value);           // halo
        } else if (r_y < RY - 1 && j >= N_y - h_y &&
                   !on_corner) {
          SMI_Pop(&recv_east, &value);
        // filled: handle other halos and boundary conditions
        } else if (r_x > 0 && i < h_x && !on_corner) {
          SMI_Pop(&recv_north, &value);
        } else if (r_x < RX - 1 && i >= N_x - h_x && !on_corner) {
          SMI_Pop(&recv_south, &value);
        } else
          value = memory[i * N_y + j];
        write_channel_intel(to_kernel, value);  // Stream to
      }                                         // compute
    }
  }
}

// filled: everything below. A rank's points next to its halo are its neighbour's halo.
__kernel void SendWest(const int T, const int N_x, const int N_y, const int RX, const int RY, const int rank,
                       __global volatile const float *restrict memory) {
  if (rank % RY == 0) return;
  for (int t = 0; t < T; t++) {
    SMI_Channel send = SMI_Open_send_channel(h_y * (N_x - 2 * h_x), SMI_FLOAT, rank - 1, 2, SMI_COMM_WORLD);
    for (int i = h_x; i < N_x - h_x; i++) {
      float value = memory[i * N_y + h_y];
      SMI_Push(&send, &value);
    }
  }
}

__kernel void SendEast(const int T, const int N_x, const int N_y, const int RX, const int RY, const int rank,
                       __global volatile const float *restrict memory) {
  if (rank % RY == RY - 1) return;
  for (int t = 0; t < T; t++) {
    SMI_Channel send = SMI_Open_send_channel(h_y * (N_x - 2 * h_x), SMI_FLOAT, rank + 1, 1, SMI_COMM_WORLD);
    for (int i = h_x; i < N_x - h_x; i++) {
      float value = memory[i * N_y + N_y - 2 * h_y];
      SMI_Push(&send, &value);
    }
  }
}

__kernel void SendNorth(const int T, const int N_x, const int N_y, const int RX, const int RY, const int rank,
                        __global volatile const float *restrict memory) {
  if (rank / RY == 0) return;
  for (int t = 0; t < T; t++) {
    SMI_Channel send = SMI_Open_send_channel(h_x * (N_y - 2 * h_y), SMI_FLOAT, rank - RY, 4, SMI_COMM_WORLD);
    for (int j = h_y; j < N_y - h_y; j++) {
      float value = memory[h_x * N_y + j];
      SMI_Push(&send, &value);
    }
  }
}

__kernel void SendSouth(const int T, const int N_x, const int N_y, const int RX, const int RY, const int rank,
                        __global volatile const float *restrict memory) {
  if (rank / RY == RX - 1) return;
  for (int t = 0; t < T; t++) {
    SMI_Channel send = SMI_Open_send_channel(h_x * (N_y - 2 * h_y), SMI_FLOAT, rank + RY, 3, SMI_COMM_WORLD);
    for (int j = h_y; j < N_y - h_y; j++) {
      float value = memory[(N_x - 2 * h_x) * N_y + j];
      SMI_Push(&send, &value);
    }
  }
}

__kernel void Take(const int T, const int N_x, const int N_y, __global volatile float *restrict streamed) {
  for (int t = 0; t < T; t++)
    for (int i = 0; i < N_x * N_y; i++) streamed[i] = read_channel_intel(to_kernel);
}
