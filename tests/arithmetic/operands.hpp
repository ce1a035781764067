// SPDX-License-Identifier: Apache-2.0
// Pairs of operands: directed ones that cover the corners of a format, and random ones near them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "formats.hpp"
#include "thalweg_spec.hpp"

/// SplitMix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  [[nodiscard]] std::uint64_t bits() {
    std::uint64_t x = state_ += 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31);
  }
  [[nodiscard]] std::uint64_t below(std::uint64_t n) { return ((bits() >> 32) * n) >> 32; }

 private:
  std::uint64_t state_;
};

struct Operands {
  std::uint64_t a, b;
};

/// A number in an element: floating-point if the format has an exponent, otherwise an integer.
struct Field {
  unsigned bits, at;  ///< width, and first bit in the element
  Format format{};

  [[nodiscard]] bool floating() const { return format.exponent > 0; }
  [[nodiscard]] std::uint64_t mask() const { return ~std::uint64_t{0} >> (64 - bits); }
};

[[nodiscard]] inline std::vector<Field> fields_of(thalweg::spec::Datatype type) {
  using enum thalweg::spec::Datatype;
  const auto real = [](Format format, unsigned at) { return Field{format.bits(), at, format}; };
  switch (type) {
    case float16:
      return {real(kHalf, 0)};
    case float32:
      return {real(kSingle, 0)};
    case float64:
      return {real(kDouble, 0)};
    case complex64:
    case pair_float32_float32:
      return {real(kSingle, 0), real(kSingle, 32)};
    case complex128:
    case pair_float64_float64:
      return {real(kDouble, 0), real(kDouble, 64)};
    case pair_int32_int32:
      return {{32, 0}, {32, 32}};
    case pair_float32_int32:
      return {real(kSingle, 0), {32, 32}};
    case pair_float64_int32:
      return {real(kDouble, 0), {32, 64}};
    case pair_int64_int32:
      return {{64, 0}, {32, 64}};
    case pair_int16_int32:
      return {{16, 0}, {32, 32}};
    default:
      return {{8 * static_cast<unsigned>(thalweg::spec::size_of(type)), 0}};
  }
}

/// Numbers at the ends of a format's ranges, of both signs.
[[nodiscard]] inline std::vector<std::uint64_t> special(const Field& field) {
  std::vector<std::uint64_t> values;
  if (!field.floating()) {
    for (unsigned bit = 0; bit < field.bits; ++bit)
      for (const std::uint64_t near : {~std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{1}})
        values.push_back(((std::uint64_t{1} << bit) + near) & field.mask());
    for (const std::uint64_t value : {std::uint64_t{0x5555555555555555}, ~std::uint64_t{0}, ~std::uint64_t{1}})
      values.push_back(value & field.mask());
    return values;
  }
  const Format& f = field.format;
  const std::uint64_t unit = f.one_exponent(), one = static_cast<std::uint64_t>(f.bias()) * unit;
  const std::uint64_t half = f.fraction + 1;  // exponents apart: half a unit in the last place
  for (const std::uint64_t value : {std::uint64_t{0},
                                    std::uint64_t{1},
                                    std::uint64_t{2},
                                    unit / 2,
                                    unit - 1,
                                    unit,
                                    unit + 1,
                                    2 * unit - 1,
                                    2 * unit,
                                    one - 1,
                                    one,
                                    one + 1,
                                    one + unit / 2,
                                    one + unit - 1,
                                    one + unit,
                                    one - half * unit,
                                    one - half * unit + 1,
                                    one - half * unit - 1,
                                    one / 2,
                                    one / 2 + unit,
                                    one / 2 - half * unit / 2,
                                    f.infinity() - 1,
                                    f.infinity() - 2,
                                    f.infinity() - unit,
                                    f.infinity() - half * unit,
                                    f.infinity(),
                                    f.nan(),
                                    f.infinity() + 1,
                                    f.nan() + 1,
                                    f.nan() + f.fractions() / 2}) {
    values.push_back(value);
    values.push_back(value | f.sign());
  }
  return values;
}

/// All special pairs; for floating-point formats also every distance of two exponents, downwards from the largest one
/// and upwards from the subnormal ones, and every sum of exponents for which products leave the range of normal
/// numbers.
[[nodiscard]] inline std::vector<Operands> directed(const Field& field) {
  std::vector<Operands> pairs;
  const std::vector<std::uint64_t> values = special(field);
  for (const std::uint64_t a : values)
    for (const std::uint64_t b : values) pairs.push_back({a, b});
  if (!field.floating()) return pairs;
  const Format& f = field.format;
  const auto largest = static_cast<int>(f.largest_exponent()) - 1;
  Random random(f.bits());
  const auto corners = [&](int exponent_a, int exponent_b) {
    if (exponent_a < 0 || exponent_b < 0 || exponent_a > largest || exponent_b > largest) return;
    const std::uint64_t a = static_cast<std::uint64_t>(exponent_a) << f.fraction;
    const std::uint64_t b = static_cast<std::uint64_t>(exponent_b) << f.fraction;
    for (const std::uint64_t in_a : {std::uint64_t{0}, std::uint64_t{1}, f.fractions(), random.bits() & f.fractions()})
      for (const std::uint64_t in_b :
           {std::uint64_t{0}, std::uint64_t{1}, f.fractions(), random.bits() & f.fractions()})
        for (const std::uint64_t sign : {std::uint64_t{0}, f.sign()}) {
          pairs.push_back({a | in_a, b | in_b | sign});
          pairs.push_back({b | in_b, a | in_a | sign});
        }
  };
  for (int distance = 0; distance <= largest; ++distance) {
    corners(largest, largest - distance);
    corners(distance, 0);
    corners(distance, 1);
  }
  const int reach = static_cast<int>(f.fraction) + 4;
  for (int place = -reach; place <= reach; ++place)
    for (int from = 0; from <= largest; from += 1 + largest / 16) {
      corners(from, f.bias() + place - from);
      corners(from, f.bias() + largest + place - from);
    }
  return pairs;
}

/// A random pair, by one of several rules at random.
[[nodiscard]] inline Operands drawn(const Field& field, const std::vector<std::uint64_t>& values, Random& random) {
  std::uint64_t a = random.bits() & field.mask(), b = random.bits() & field.mask();
  const std::uint64_t choice = random.bits();
  const auto value = [&](unsigned from) { return values[((choice >> from & 0xFFFF) * values.size()) >> 16]; };
  if (!field.floating()) {
    switch (choice & 7) {
      case 0:
        return {value(8), b};
      case 1:
        return {a, value(8)};
      case 2:
        return {value(8), value(24)};
      case 3:
        return {a, a ^ (std::uint64_t{1} << (choice >> 8) % field.bits)};
      case 4:
        return {a, a};
      default:
        return {a, b};
    }
  }
  const Format& f = field.format;
  const std::uint64_t signs = b & f.sign(), largest = f.largest_exponent();
  const auto with_exponent = [&](std::uint64_t word, std::uint64_t exponent) {
    return (word & ~f.infinity()) | ((exponent & largest) << f.fraction);
  };
  const std::uint64_t exponent = (a & f.infinity()) >> f.fraction;
  const std::uint64_t small = choice >> 8 & 0xFF;
  switch (choice & 15) {
    case 0:
      return {value(8), value(24)};
    case 1:
      return {a, value(24)};
    case 2:
      return {value(8), b};
    case 3:  // nearly cancelling
      return {a, (a & ~f.sign() & ~(choice >> 48)) | (f.sign() & ~a)};
    case 4:
      return {a, (a + (choice >> 60) - 8) ^ f.sign()};
    case 5:  // short fractions, whose sums and products are halfway more often
      return {a & ~(f.fractions() >> small % f.fraction), b & ~(f.fractions() >> (choice >> 16 & 0xFF) % f.fraction)};
    case 6:  // b is half a unit in the last place of a, or nearly so
      return {a, with_exponent(signs | ((choice >> 16 & 3) == 0 ? f.fractions() : (choice >> 16 & 3) == 1),
                               exponent - f.fraction - 1 - (choice >> 18 & 1))};
    case 7:
    case 8:  // a product at the lower end
      return {a, with_exponent(b, static_cast<std::uint64_t>(f.bias()) - exponent - small % (f.fraction + 4) + 2)};
    case 9:  // at the upper end
      return {a, with_exponent(b, static_cast<std::uint64_t>(f.bias()) + largest - exponent - small % 4)};
    case 10:  // subnormal
      return {a & ~f.infinity(), with_exponent(b, choice >> 16 & 3)};
    case 11:
      return {with_exponent(a, f.largest_exponent() - 1), with_exponent(b, f.largest_exponent() - 1 - small % 3)};
    case 12:
    case 13:  // similar exponents
      return {a, with_exponent(b, exponent + small % (2 * f.fraction + 8) - f.fraction - 4)};
    default:
      return {a, b};
  }
}
