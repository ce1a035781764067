// Two operators for the switches: see thalweg_operator.hpp.
#include <algorithm>
#include <cstdint>
#include <thalweg_operator.hpp>

struct Complex {
  double real, imaginary;
};

// Four products and two sums: a multiplier's latency and an adder's, of 14 cycles each, as the presets have it.
THALWEG_OPERATOR(complex_product, Complex, 28) {
  return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
}

THALWEG_OPERATOR(saturating_sum, std::int16_t, 1) {
  return static_cast<std::int16_t>(std::clamp(int{a} + int{b}, INT16_MIN, INT16_MAX));
}
