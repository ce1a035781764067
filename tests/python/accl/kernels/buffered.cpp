// SPDX-License-Identifier: Apache-2.0
// A kernel with the arguments of HPCC FPGA's b_eff kernel: messages from memory to memory.
#include "engine.h"

void send_recv(std::uint64_t read_buffer, std::uint64_t write_buffer, int size, int num_iterations,
               unsigned neighbor_rank, unsigned communicator_addr, unsigned datapath_cfg,
               hls::stream<command_word>& cmd, hls::stream<command_word>& sts) {
  for (int i = 0; i < num_iterations; ++i) {
    call(cmd, 3, size, communicator_addr, neighbor_rank, 0, datapath_cfg, 0, read_buffer);
    sts.read();
    call(cmd, 4, size, communicator_addr, neighbor_rank, 0, datapath_cfg, 0, 0, write_buffer);
    sts.read();
  }
}
