// SPDX-License-Identifier: Apache-2.0
// Two operators for the switches: see thalweg_operator.hpp. In hardware they are the modules in rtl/.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <thalweg_operator.hpp>

struct Complex {
  double real, imaginary;
};

// The canonical NaN for any: which payload and sign a processor gives depends on the order of a and b.
static double canonical(double x) {
  return x == x ? x : std::numeric_limits<double>::quiet_NaN();
}

// Four products and two sums: a multiplier's latency and an adder's, of 14 cycles each, as the presets have it.
THALWEG_OPERATOR(complex_product, Complex, 28) {
  return {canonical(a.real * b.real - a.imaginary * b.imaginary),
          canonical(a.real * b.imaginary + a.imaginary * b.real)};
}

THALWEG_OPERATOR(saturating_sum, std::int16_t, 1) {
  return static_cast<std::int16_t>(std::clamp(int{a} + int{b}, INT16_MIN, INT16_MAX));
}
