// SPDX-License-Identifier: Apache-2.0
// A kernel's calls to the engine: the words of a command, and the wait for its status.
#pragma once
#include "ap_axi_sdata.h"
#include "hls_stream.h"

using data_word = ap_axiu<512, 0, 0, 8>;
using command_word = ap_axiu<32, 0, 0, 0>;

inline void call(hls::stream<command_word>& commands, unsigned scenario, unsigned count, unsigned comm, unsigned peer,
                 unsigned tag, unsigned arithmetic, unsigned streams, std::uint64_t from = 0, std::uint64_t to = 0) {
  const unsigned words[15] = {scenario,
                              count,
                              comm,
                              peer,
                              0,
                              tag,
                              arithmetic,
                              0,
                              streams,
                              static_cast<unsigned>(from),
                              static_cast<unsigned>(from >> 32),
                              0,
                              0,
                              static_cast<unsigned>(to),
                              static_cast<unsigned>(to >> 32)};
  for (int k = 0; k < 15; ++k) {
#pragma HLS PIPELINE II = 1
    command_word word;
    word.data = words[k];
    word.last = k == 14;
    commands.write(word);
  }
}
