// SPDX-License-Identifier: Apache-2.0
// Each rank streams its numbers plus one to the next rank's stream 9, and receives those of the previous rank.
#include "engine.h"

void put(const float* from, float* to, int count, unsigned next, unsigned comm, unsigned arithmetic,
         hls::stream<command_word>& commands, hls::stream<command_word>& status, hls::stream<data_word>& out,
         hls::stream<data_word>& in) {
#pragma HLS INTERFACE m_axi port = from bundle = gmem0
#pragma HLS INTERFACE m_axi port = to bundle = gmem1
  call(commands, 3, count, comm, next, 9, arithmetic, 3);
  for (int k = 0; k < (count + 15) / 16; ++k) {
#pragma HLS PIPELINE II = 1
    data_word word;
    for (int i = 0; i < 16; ++i) {
      const float more = 16 * k + i < count ? from[16 * k + i] + 1 : 0;
      word.data(32 * i + 31, 32 * i) = *reinterpret_cast<const std::uint32_t*>(&more);
    }
    word.keep = -1;
    word.last = 1;
    out.write(word);
  }
  for (int k = 0; k < (count + 15) / 16; ++k) {
#pragma HLS PIPELINE II = 1
    const data_word word = in.read();
    for (int i = 0; i < 16 && 16 * k + i < count; ++i) {
      const std::uint32_t bits = word.data(32 * i + 31, 32 * i);
      to[16 * k + i] = *reinterpret_cast<const float*>(&bits);
    }
  }
  status.read();
}

void first_the_data(const float* from, int count, hls::stream<data_word>& out) {
  for (int k = 0; k < count / 16; ++k) {
    data_word word;
    word.data = static_cast<int>(from[16 * k]);
    out << word;
  }
}
