// SPDX-License-Identifier: Apache-2.0
// A kernel that adds 1 to numbers from another board, and one that sends numbers there, through streams of ACCL's engine.
#include "ap_axi_sdata.h"
#include "hls_stream.h"

using command_word = ap_axiu<32, 0, 0, 0>;
using data_word = ap_axiu<512, 0, 0, 8>;

static void read(const ap_uint<512>* from, int words, hls::stream<data_word>& to) {
  for (int k = 0; k < words; ++k) {
#pragma HLS PIPELINE II = 1
    data_word word;
    word.data = from[k];
    word.last = k == words - 1;
    to.write(word);
  }
}

// Calls the engine to send from the kernel's stream to stream 9 of another rank.
static void command(int words, int rank, int communicator, int arithmetic, hls::stream<command_word>& commands,
                    hls::stream<command_word>& status) {
  const int fields[15] = {3, 16 * words, communicator, rank, 0, 9, arithmetic, 0, 3, 0, 0, 0, 0, 0, 0};
  for (int k = 0; k < 15; ++k) {
#pragma HLS PIPELINE II = 1
    command_word word;
    word.data = fields[k];
    word.last = k == 14;
    commands.write(word);
  }
  status.read();
}

void send(const ap_uint<512>* from, int words, int rank, int communicator, int arithmetic,
          hls::stream<command_word>& commands, hls::stream<command_word>& status, hls::stream<data_word>& data) {
#pragma HLS INTERFACE m_axi port = from bundle = gmem0
#pragma HLS DATAFLOW
  read(from, words, data);
  command(words, rank, communicator, arithmetic, commands, status);
}

void increment(ap_uint<512>* to, int words, hls::stream<data_word>& data) {
#pragma HLS INTERFACE m_axi port = to bundle = gmem1
  for (int k = 0; k < words; ++k) {
#pragma HLS PIPELINE II = 1
    data_word word = data.read();
    for (int i = 0; i < 16; ++i) {
      const unsigned number = word.data.range(32 * i + 31, 32 * i);
      word.data.range(32 * i + 31, 32 * i) = number + 1;
    }
    to[k] = word.data;
  }
}
