// SPDX-License-Identifier: Apache-2.0
// Kernels that call the engine with operands in memory, that restart, and that use other names of streams.
#include "Stream.h"
#include "engine.h"

using commands_t = hls::stream<command_word>;
enum { kSend = 3, kRecv = 4 };

void sends_from_memory(const float* from, int count, unsigned peer, unsigned comm, unsigned arithmetic,
                       commands_t& commands, commands_t& status) {
  call(commands, kSend, count, comm, peer, 5, arithmetic, 0, reinterpret_cast<std::uint64_t>(from));
  status.read();
}
void receives_into_memory(float* to, int count, unsigned peer, unsigned comm, unsigned arithmetic, float* sum,
                          commands_t& commands, commands_t& status) {
  call(commands, kRecv, count, comm, peer, 5, arithmetic, 0, 0, reinterpret_cast<std::uint64_t>(to));
  status.read();
  float all = 0;
  for (int i = 0; i < count; ++i) all += to[i];
  *sum = all;
}
void asks_for_data(int* code, unsigned comm, unsigned arithmetic, commands_t& commands, commands_t& status) {
  call(commands, kSend, 16, comm, 0, 9, arithmetic, 3);
  *code = static_cast<int>(status.read().data.to_uint64());
}

void doubles(hlslib::Stream<int>& in, hlslib::Stream<int, 8>& out) {
#pragma HLS INTERFACE ap_ctrl_none port = return
  const int value = in.Pop();
  if (!out.IsFull()) out.Push(2 * value);
}
void asks_for_doubles(int count, hlslib::Stream<int>& out, hlslib::Stream<int>& in, int* to) {
  for (int i = 0; i < count; ++i) {
    out.Push(i);
    while (in.IsEmpty()) {
    }
    to[i] = in.read();
  }
}

using real_word = hls::axis<float, 3, 0, 4>;
static void makes(int count, hls::stream<real_word>& to) {
  for (int i = 0; i < count; ++i) {
    real_word word;
    word.data = 0.5f * i;
    word.user = i % 8;
    word.dest = i % 16;
    word.keep = -1;
    word.last = i == count - 1;
    to << word;
  }
}
static void checks(int count, int offset, hls::stream<real_word>& from, int* wrong) {
  int found = 0;
  for (int i = 0; i < count; ++i) {
    real_word word;
    from >> word;
    if (word.data != 0.5f * i || word.user != i % 8 || word.dest != i % 16 || word.keep != 15 ||
        word.last != (i == count - 1))
      ++found;
  }
  wrong[offset] = found;
}
extern "C" void words_keep_their_sideband(int count, int* wrong) {
  for (int k = 0; k < 3; ++k) {
#pragma HLS DATAFLOW
    hls::stream<real_word, 4> between("between");
    makes(count, between);
    checks(count, k, between, wrong);
  }
}
