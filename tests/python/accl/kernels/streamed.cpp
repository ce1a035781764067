// SPDX-License-Identifier: Apache-2.0
// Kernels with the arguments of HPCC FPGA's b_eff kernels: messages from stream to stream.
#include "engine.h"

using notice = ap_axiu<1, 0, 0, 0>;

void send_stream(const ap_uint<512>* read_buffer, int size, int num_iterations, hls::stream<data_word>& data_out) {
#pragma HLS INTERFACE m_axi port = read_buffer bundle = gmem_in
  for (int i = 0; i < num_iterations; ++i)
    for (int k = 0; k < (size + 15) / 16; ++k) {
#pragma HLS PIPELINE II = 1
      data_word word;
      word.data = read_buffer[k];
      word.keep = -1;
      word.last = 1;
      data_out.write(word);
    }
}

void recv_stream(ap_uint<512>* write_buffer, int size, int num_iterations, int notify_enabled,
                 hls::stream<data_word>& data_in, hls::stream<notice>& notify) {
#pragma HLS INTERFACE m_axi port = write_buffer bundle = gmem_out
  for (int i = 0; i < num_iterations; ++i) {
    for (int k = 0; k < (size + 15) / 16; ++k) {
#pragma HLS PIPELINE II = 1
      write_buffer[k] = data_in.read().data;
    }
    if (notify_enabled) notify.write(notice{});
  }
}

void schedule_stream(int size, int num_iterations, unsigned neighbor_rank, unsigned communicator_addr,
                     unsigned datapath_cfg, hls::stream<command_word>& cmd, hls::stream<command_word>& sts,
                     hls::stream<notice>& notify) {
  for (int i = 0; i < num_iterations; ++i) {
    call(cmd, 3, size, communicator_addr, neighbor_rank, 0, datapath_cfg, 3);
    sts.read();
    notify.read();
  }
}
