// SPDX-License-Identifier: Apache-2.0
// Kernels that run beside host programs.
#include "engine.h"

// Adds `more` to each number from the engine, and returns it.
void adder(int more, hls::stream<data_word>& in, hls::stream<data_word>& out) {
#pragma HLS INTERFACE ap_ctrl_none port = return
  data_word word = in.read();
  for (int i = 0; i < 16; ++i) {
#pragma HLS UNROLL
    const int number = word.data(32 * i + 31, 32 * i);
    word.data(32 * i + 31, 32 * i) = number + more;
  }
  out.write(word);
}

// Sends words of 16 equal numbers to stream 9 of a rank.
void announce(int words, int number, unsigned to, unsigned comm, unsigned arithmetic,
              hls::stream<command_word>& commands, hls::stream<command_word>& status, hls::stream<data_word>& out) {
  call(commands, 3, 16 * words, comm, to, 9, arithmetic, 3);
  for (int k = 0; k < words; ++k) {
    data_word word;
    for (int i = 0; i < 16; ++i) word.data(32 * i + 31, 32 * i) = number;
    word.keep = -1;
    word.last = k == words - 1;
    out.write(word);
  }
  status.read();
}

// Transfers between two kernels of a rank.
void produce(const int* from, int count, hls::stream<int>& to) {
  for (int k = 0; k < count; ++k) to.write(from[k]);
}
void consume(int* to, int count, float factor, hls::stream<int>& from) {
  for (int k = 0; k < count; ++k) to[k] = static_cast<int>(factor * static_cast<float>(from.read()));
}

void wild(int* to) {
  to[1 << 28] = 1;
}

// Never waits.
void spin(hls::stream<data_word>& in) {
#pragma HLS INTERFACE ap_ctrl_none port = return
  data_word word;
  in.read_nb(word);
}
