// SPDX-License-Identifier: Apache-2.0
// Arguments of many types, whose values are stored next to each other.
#include <ap_fixed.h>
#include <ap_int.h>

enum color : unsigned char { red, green };
using narrow = ap_uint<5>;

void whole(signed char a, unsigned short b, int c, unsigned d, long e, bool f, narrow g, const ap_int<33> h, color i,
           long long* out) {
  out[0] = a;
  out[1] = b;
  out[2] = c;
  out[3] = d;
  out[4] = e;
  out[5] = f;
  out[6] = g.to_int64();
  out[7] = h.to_int64();
  out[8] = i;
}
void large(unsigned long a, const ap_uint<64>& b, ap_uint<100> c, unsigned long long* out) {
  out[0] = a;
  out[1] = b.to_uint64();
  out[2] = c.range(63, 0).to_uint64();
  out[3] = c.range(99, 64).to_uint64();
}
void real(float a, double b, ap_fixed<8, 4> c, ap_ufixed<6, 6> d, double* out) {
  out[0] = a;
  out[1] = b;
  out[2] = c.to_double();
  out[3] = d.to_double();
}
