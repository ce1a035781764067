// SPDX-License-Identifier: Apache-2.0
// Two operators for the switches (thalweg_operator.hpp). In hardware they are the modules in rtl/.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <thalweg_operator.hpp>

struct Complex {
  double real, imaginary;
};

// Replaces any NaN by the canonical one, as a processor's NaN payload and sign depend on the order of a and b.
static double canonical(double x) {
  return x == x ? x : std::numeric_limits<double>::quiet_NaN();
}

// Four products and two sums: latency of a multiplier and an adder, 14 cycles each as in the presets.
THALWEG_OPERATOR(complex_product, Complex, 28) {
  return {canonical(a.real * b.real - a.imaginary * b.imaginary),
          canonical(a.real * b.imaginary + a.imaginary * b.real)};
}

THALWEG_OPERATOR(saturating_sum, std::int16_t, 1) {
  return static_cast<std::int16_t>(std::clamp(int{a} + int{b}, INT16_MIN, INT16_MAX));
}
