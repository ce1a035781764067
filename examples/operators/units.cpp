// SPDX-License-Identifier: Apache-2.0
// Units between hosts and switches (thalweg_unit.hpp).
#include <bit>
#include <cmath>
#include <cstdint>
#include <thalweg_operator.hpp>
#include <thalweg_unit.hpp>

// A sum of doubles that does not depend on the order: the switches add multiples of 2^-32.
THALWEG_OPERATOR(fixed_sum, std::uint64_t, 1) {
  return a + b;
}

THALWEG_BEFORE(fixed_sum, double, 6) {
  return std::bit_cast<double>(std::llrint(std::ldexp(x, 32)));
}

THALWEG_AFTER(fixed_sum, double, 6) {
  return std::ldexp(static_cast<double>(std::bit_cast<std::int64_t>(x)), -32);
}

// Broadcast data cross the links masked.
constexpr std::uint64_t kMask = 0x9e3779b97f4a7c15;

THALWEG_BEFORE(broadcast, std::uint64_t, 1) {
  return x ^ kMask;
}

THALWEG_AFTER(broadcast, std::uint64_t, 1) {
  return x ^ kMask;
}
