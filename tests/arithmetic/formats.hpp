// SPDX-License-Identifier: Apache-2.0
// IEEE 754 formats by their definition: the number that bits represent, and the bits that represent a number. Doubles
// hold the numbers of the formats up to 16 bits, their sums and their products exactly; the processor rounds, once, a
// number scaled so that a unit in the last place is 1.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

struct Format {
  unsigned exponent, fraction;  ///< bits

  [[nodiscard]] constexpr unsigned bits() const { return 1 + exponent + fraction; }
  [[nodiscard]] constexpr int bias() const { return (1 << (exponent - 1)) - 1; }
  [[nodiscard]] constexpr std::uint64_t sign() const { return std::uint64_t{1} << (exponent + fraction); }
  [[nodiscard]] constexpr std::uint64_t one_exponent() const { return std::uint64_t{1} << fraction; }
  [[nodiscard]] constexpr std::uint64_t fractions() const { return one_exponent() - 1; }
  [[nodiscard]] constexpr std::uint64_t largest_exponent() const { return (std::uint64_t{1} << exponent) - 1; }
  [[nodiscard]] constexpr std::uint64_t infinity() const { return largest_exponent() << fraction; }
  [[nodiscard]] constexpr std::uint64_t nan() const { return infinity() | one_exponent() / 2; }

  [[nodiscard]] double value(std::uint64_t word) const {
    const auto power = static_cast<int>((word & ~sign()) >> fraction);
    const auto digits = static_cast<double>(word & fractions());
    double magnitude;
    if (power == static_cast<int>(largest_exponent()))
      magnitude = digits == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    else if (power == 0)
      magnitude = std::ldexp(digits, 1 - bias() - static_cast<int>(fraction));
    else
      magnitude = std::ldexp(digits + static_cast<double>(one_exponent()), power - bias() - static_cast<int>(fraction));
    return word & sign() ? -magnitude : magnitude;
  }

  /// The number nearest to x, of two equally near ones the even one.
  [[nodiscard]] std::uint64_t rounded(double x) const {
    if (std::isnan(x)) return nan();
    const std::uint64_t negative = std::signbit(x) ? sign() : 0;
    if (x == 0) return negative;
    if (std::isinf(x)) return negative | infinity();
    const int smallest = 1 - bias();
    const int power = std::max(std::ilogb(x), smallest);
    const double units = std::nearbyint(std::ldexp(std::fabs(x), static_cast<int>(fraction) - power));
    const std::uint64_t magnitude =
        (static_cast<std::uint64_t>(power - smallest) << fraction) + static_cast<std::uint64_t>(units);
    return negative | std::min(magnitude, infinity());
  }
};

inline constexpr Format kHalf{5, 10}, kSingle{8, 23}, kDouble{11, 52};
