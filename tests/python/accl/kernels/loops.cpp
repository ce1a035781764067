// SPDX-License-Identifier: Apache-2.0
// Loops whose cycles are known in closed form.
#include <cstdlib>

#include "engine.h"

using words = hls::stream<data_word>;
using numbers = hls::stream<int>;

void plain(int count, int* out) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += i;
  *out = sum;
}
void nested(int count, int inner, int* out) {
  int sum = 0;
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < inner; ++k) sum += k;
  *out = sum;
}
void interval_two(int count, numbers& out) {
  for (int i = 0; i < count; ++i) {
#pragma HLS PIPELINE II = 2
    out.write(i);
  }
}
#define EVERY 3
void interval_and_latency(int count, numbers& out) {
  for (int i = 0; i < count; ++i) {
#pragma HLS latency min = 10
#pragma HLS pipeline II = EVERY rewind
    out << i;
  }
}
void latency_alone(int count, int* out) {
  int i = 0;
  while (i < count) {
#pragma HLS LATENCY min = 7
    ++i;
  }
  *out = i;
}
void unrolled(int count, int* out) {
  int sum = 0;
  for (int i = 0; i < count; ++i) {
#pragma HLS UNROLL
    sum += i;
  }
  *out = sum;
}
void unrolled_by_four(int count, int* out) {
  int sum = 0;
  for (int i = 0; i < count; ++i) {
#pragma HLS UNROLL factor = 4 skip_exit_check
    sum += i;
  }
  *out = sum;
}
void unrolled_by_a_pipeline(int count, int inner, int* out) {
  int sum = 0;
  for (int i = 0; i < count; ++i) {
#pragma HLS PIPELINE
    for (int k = 0; k < inner; ++k) sum += k;
  }
  *out = sum;
}
void takes(int count, numbers& in, int* out) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += in.read();
  *out = sum;
}

static void gives(int count, numbers& out) {
  for (int i = 0; i < count; ++i) out << i;
}
static void doubles(int count, numbers& in, numbers& out) {
  for (int i = 0; i < count; ++i) out << 2 * in.read();
}
static void adds(int count, numbers& in, int* to) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += in.read();
  *to = sum;
}
void one_after_the_other(int count, int* out) {
  numbers first("first"), second("second");
#pragma HLS STREAM variable = first depth = 1024
#pragma HLS STREAM variable = second depth = 1024
  gives(count, first);
  doubles(count, first, second);
  adds(count, second, out);
}
void side_by_side(int count, int* out) {
#pragma HLS DATAFLOW
  numbers first("first"), second("second");
  gives(count, first);
  doubles(count, first, second);
  adds(count, second, out);
}

void reads_in_order(int count, const ap_uint<512>* in, int* out) {
#pragma HLS INTERFACE m_axi port = in bundle = gmem0
#pragma HLS INTERFACE m_axi port = out bundle = gmem1
  int sum = 0;
  for (int i = 0; i < count; ++i) {
#pragma HLS PIPELINE II = 1
    const ap_uint<512> word = in[i];
    sum += word.range(31, 0);
  }
  *out = sum;
}
void reads_far_apart(int count, const int* in, int* out) {
#pragma HLS INTERFACE m_axi port = in bundle = gmem0
#pragma HLS INTERFACE m_axi port = out bundle = gmem1
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += in[64 * i];
  *out = sum;
}
void reads_far_apart_in_a_pipeline(int count, const int* in, int* out) {
#pragma HLS INTERFACE m_axi port = in bundle = gmem0
#pragma HLS INTERFACE m_axi port = out bundle = gmem1
  int sum = 0;
  for (int i = 0; i < count; ++i) {
#pragma HLS PIPELINE II = 1
    sum += in[64 * i];
  }
  *out = sum;
}

void polls(int count, numbers& in, int* out) {
  int found = 0, missed = 0;
  while (found < count) {
    int value;
    if (in.read_nb(value))
      ++found;
    else
      ++missed;
  }
  out[0] = found;
  out[1] = missed;
}
void writes_where_there_is_room(int count, numbers& out, int* refused) {
  int no = 0;
  for (int i = 0; i < count; ++i)
    if (out.full())
      ++no;
    else
      out.write(i);
  *refused = no;
}

void waits_for_a_second(numbers& in, numbers& out) {
  const int value = in.read();
  out.write(value);
}
void throws_something(int count) {
  if (count > 0) throw 5;
}
void never_ends(int* out) {
  while (true) ++*out;
}
void spins(int* out) {
  volatile int k = 1;
  while (k) {
  }
}
void reads_outside(const int* in, int* out) {
  *out = in[1 << 20];
}

void follows_a_wild_pointer(int* out) {
  *out = *reinterpret_cast<int*>(0x600000000000);
}
void divides(int count, int* out) {
  *out = 100 / (count - 3);
}
static int deeper(int depth) {
  volatile int here[1000];
  here[depth % 1000] = depth;
  return here[depth % 1000] + deeper(depth + 1) + here[0];
}
void calls_itself(int* out) {
  *out = deeper(0);
}
void aborts(int count) {
  if (count > 0) abort();
}
void exits(int count) {
  if (count > 0) exit(3);
}
