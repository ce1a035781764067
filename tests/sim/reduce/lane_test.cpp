// SPDX-License-Identifier: Apache-2.0
// Does every operator give the results of docs/collectives.md for every type, to the bit?
#include "reduce/lane.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace thalweg {
namespace {

using spec::Datatype, spec::Operator;
using Element = std::array<std::byte, 16>;

template <class T>
Element as_element(T value) {
  Element element{};
  std::memcpy(element.data(), &value, sizeof value);
  return element;
}

Element apply(Operator op, Datatype type, const Element& a, const Element& b) {
  Element result = a;
  lane(op, type)(result.data(), b.data(), 1);
  return result;
}

template <class T>
T apply(Operator op, Datatype type, T a, T b) {
  const Element result = apply(op, type, as_element(a), as_element(b));
  T value;
  std::memcpy(&value, result.data(), sizeof value);
  return value;
}

template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Lane, ThereIsOneForEverySupportedPairAndForNoOther) {
  for (unsigned op = 0; op < spec::operator_names.size(); ++op)
    for (unsigned type = 0; type < spec::datatype_names.size(); ++type)
      EXPECT_EQ(lane(Operator(op), Datatype(type)) != nullptr, spec::supported(Operator(op), Datatype(type)))
          << spec::operator_names[op] << ' ' << spec::datatype_names[type];
}

template <class T>
void check_integers(Datatype type) {
  SCOPED_TRACE(spec::name(type));
  std::mt19937_64 random{7};
  using Limits = std::numeric_limits<T>;
  std::vector<T> values{0, 1, 2, static_cast<T>(-1), Limits::min(), Limits::max()};
  for (int i = 0; i < 50; ++i) values.push_back(static_cast<T>(random()));
  const auto wrapped = [](__int128 exact) { return static_cast<T>(static_cast<std::uint64_t>(exact)); };
  for (const T a : values)
    for (const T b : values) {
      const __int128 x = a, y = b;
      const auto product = static_cast<unsigned __int128>(x) * static_cast<unsigned __int128>(y);
      EXPECT_EQ(apply(Operator::sum, type, a, b), wrapped(x + y));
      EXPECT_EQ(apply(Operator::prod, type, a, b), wrapped(static_cast<__int128>(product)));
      EXPECT_EQ(apply(Operator::min, type, a, b), wrapped(x < y ? x : y));
      EXPECT_EQ(apply(Operator::max, type, a, b), wrapped(x > y ? x : y));
      EXPECT_EQ(apply(Operator::band, type, a, b), wrapped(x & y));
      EXPECT_EQ(apply(Operator::bor, type, a, b), wrapped(x | y));
      EXPECT_EQ(apply(Operator::bxor, type, a, b), wrapped(x ^ y));
      EXPECT_EQ(apply(Operator::land, type, a, b), T(x && y));
      EXPECT_EQ(apply(Operator::lor, type, a, b), T(x || y));
      EXPECT_EQ(apply(Operator::lxor, type, a, b), T(!x != !y));
    }
}

TEST(Lane, IntegersWrapAndLogicalsGiveZeroOrOne) {
  check_integers<std::int8_t>(Datatype::int8);
  check_integers<std::uint8_t>(Datatype::uint8);
  check_integers<std::int16_t>(Datatype::int16);
  check_integers<std::uint16_t>(Datatype::uint16);
  check_integers<std::int32_t>(Datatype::int32);
  check_integers<std::uint32_t>(Datatype::uint32);
  check_integers<std::int64_t>(Datatype::int64);
  check_integers<std::uint64_t>(Datatype::uint64);
}

/// The rules of floating types, for values of T whose doubles are exact; `round` gives the T nearest to a double.
template <class T, class Value, class Round>
void check_floating(Datatype type, const std::vector<T>& values, Value value, Round round, T canonical) {
  SCOPED_TRACE(spec::name(type));
  const auto expect = [&](Operator op, T a, T b, T want) {
    EXPECT_TRUE(same_bits(apply(op, type, a, b), want)) << spec::name(op) << ' ' << value(a) << ' ' << value(b);
  };
  for (const T a : values)
    for (const T b : values) {
      const double x = value(a), y = value(b);
      const bool number = !std::isnan(x) && !std::isnan(y);
      const bool below = x < y || (x == y && std::signbit(x) && !std::signbit(y));
      expect(Operator::sum, a, b, std::isnan(x + y) ? canonical : round(x, y, true));
      expect(Operator::prod, a, b, std::isnan(x * y) ? canonical : round(x, y, false));
      expect(Operator::min, a, b, !number ? canonical : below ? a : b);
      expect(Operator::max, a, b, !number ? canonical : below ? b : a);
    }
}

template <class T, class Bits>
std::vector<T> floating_values(std::initializer_list<Bits> special) {
  std::mt19937_64 random{11};
  std::vector<T> values;
  const auto add = [&](Bits bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    values.push_back(value);
  };
  for (const Bits bits : special) add(bits);
  for (int i = 0; i < 100; ++i) add(static_cast<Bits>(random()));
  for (int i = 0; i < 50; ++i)
    values.push_back(static_cast<T>(std::ldexp(double(random() % 4096), int(random() % 12))));
  return values;
}

TEST(Lane, FloatingNumbers) {
  const auto as_double = [](auto x) { return static_cast<double>(x); };
  check_floating<double>(
      Datatype::float64,
      floating_values<double, std::uint64_t>({0, 1ull << 63, 1, 0x7FF0000000000000, 0xFFF0000000000000,
                                              0x7FF8000000000000, 0xFFF8000000000001, 0x7FF0000000000001}),
      as_double, [](double x, double y, bool sum) { return sum ? x + y : x * y; },
      std::bit_cast<double>(0x7FF8000000000000));
  check_floating<float>(
      Datatype::float32,
      floating_values<float, std::uint32_t>(
          {0u, 1u << 31, 1u, 0x7F800000u, 0xFF800000u, 0x7FC00000u, 0xFFC00001u, 0x7F800001u}),
      as_double,
      [](double x, double y, bool sum) {  // the processor's own fp32
        const volatile float a = static_cast<float>(x), b = static_cast<float>(y);
        return sum ? a + b : a * b;
      },
      std::bit_cast<float>(0x7FC00000));
}

/// fp16 by its definition: sums and products of halves are exact in double, and are rounded to 11 bits by scaling.
using HalfBits = std::uint16_t;

double half_value(HalfBits bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double magnitude = exponent == 31  ? (fraction ? std::nan("") : kInfinity)
                           : exponent == 0 ? std::ldexp(fraction, -24)
                                           : std::ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 ? -magnitude : magnitude;
}

HalfBits nearest_half(double x) {
  const HalfBits sign = std::signbit(x) ? 0x8000 : 0;
  const double magnitude = std::abs(x);
  if (magnitude >= 65520) return sign | 0x7C00;
  const int exponent = magnitude > 0 ? std::max(std::ilogb(magnitude), -14) : -14;
  const auto scaled = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));  // ties to even
  return static_cast<HalfBits>(sign | (scaled + ((exponent + 14) << 10)));
}

TEST(Lane, HalfPrecisionIsRoundedOnce) {
  std::vector<HalfBits> values{0,      0x8000, 1,      0x8001, 0x3C00, 0x3C01, 0x7BFF, 0xFBFF, 0x7C00,
                               0xFC00, 0x7E00, 0xFE01, 0x7C01, 0x0400, 0x03FF, 0x1400, 0x1401};
  std::mt19937_64 random{13};
  for (int i = 0; i < 1500; ++i) values.push_back(static_cast<HalfBits>(random()));
  check_floating<HalfBits>(
      Datatype::float16, values, half_value,
      [](double x, double y, bool sum) { return nearest_half(sum ? x + y : x * y); }, HalfBits{0x7E00});
}

TEST(Lane, ComplexSumsAreThoseOfTheirParts) {
  struct Complex {
    float real, imaginary;
  };
  const auto sum = apply(Operator::sum, Datatype::complex64, Complex{1.5f, -2}, Complex{0.25f, 5});
  EXPECT_EQ(sum.real, 1.75f);
  EXPECT_EQ(sum.imaginary, 3.f);
}

template <class Value, class Index>
struct Pair {
  Value value;
  Index index;
};

template <class Value, class Index>
void check_pairs(Datatype type) {
  SCOPED_TRACE(spec::name(type));
  using P = Pair<Value, Index>;
  const auto expect = [&](Operator op, P a, P b, P want) {
    Element wanted{};  // unused bytes are zero
    std::memcpy(wanted.data(), &want.value, sizeof want.value);
    std::memcpy(wanted.data() + offsetof(P, index), &want.index, sizeof want.index);
    Element x, y;
    x.fill(std::byte{0xEE});
    y.fill(std::byte{0xDD});
    for (const auto& [element, pair] : {std::pair{&x, a}, std::pair{&y, b}}) {
      std::memcpy(element->data(), &pair.value, sizeof pair.value);
      std::memcpy(element->data() + offsetof(P, index), &pair.index, sizeof pair.index);
    }
    for (const Element& result : {apply(op, type, x, y), apply(op, type, y, x)})
      EXPECT_TRUE(std::equal(result.begin(), result.begin() + sizeof(P), wanted.begin())) << spec::name(op);
  };
  expect(Operator::minloc, {3, 7}, {4, 1}, {3, 7});
  expect(Operator::maxloc, {3, 7}, {4, 1}, {4, 1});
  expect(Operator::minloc, {5, 9}, {5, 2}, {5, 2});
  expect(Operator::maxloc, {5, 9}, {5, 2}, {5, 2});
  if constexpr (std::numeric_limits<Value>::has_quiet_NaN) {
    const Value nan = std::numeric_limits<Value>::quiet_NaN(), odd = -nan;
    expect(Operator::minloc, {odd, 7}, {4, 1}, {nan, 7});
    expect(Operator::maxloc, {odd, 7}, {4, 1}, {nan, 7});
    expect(Operator::maxloc, {nan, 7}, {odd, 3}, {nan, 3});
    expect(Operator::minloc, {Value(-0.0), 9}, {Value(0.0), 2}, {Value(0.0), 2});
    expect(Operator::minloc, {Value(-0.0), 2}, {Value(0.0), 2}, {Value(-0.0), 2});
    expect(Operator::maxloc, {Value(-0.0), 2}, {Value(0.0), 2}, {Value(0.0), 2});
  }
}

TEST(Lane, LocationsTakeTheLowestIndexOnTies) {
  check_pairs<std::int32_t, std::int32_t>(Datatype::pair_int32_int32);
  check_pairs<float, std::int32_t>(Datatype::pair_float32_int32);
  check_pairs<double, std::int32_t>(Datatype::pair_float64_int32);
  check_pairs<std::int64_t, std::int32_t>(Datatype::pair_int64_int32);
  check_pairs<std::int16_t, std::int32_t>(Datatype::pair_int16_int32);
  check_pairs<float, float>(Datatype::pair_float32_float32);
  check_pairs<double, double>(Datatype::pair_float64_float64);
}

TEST(Lane, NoResultDependsOnWhichOperandComesFirst) {
  std::mt19937_64 random{17};
  for (unsigned op = 1; op < spec::operator_names.size(); ++op)
    for (unsigned t = 0; t < spec::datatype_names.size(); ++t) {
      if (!spec::supported(Operator(op), Datatype(t))) continue;
      for (int i = 0; i < 2000; ++i) {
        Element a, b;
        for (auto* element : {&a, &b})
          for (std::size_t at = 0; at < 16; at += 8) {  // random bits, or bytes of infinities, NaNs and zeros
            const std::uint64_t bits = random() % 2
                                           ? random()
                                           : std::array{0ull, 1ull << 63, 0x7FF8000000000001ull, 0xFFC00001FFC00001ull,
                                                        0x8000000080000000ull}[random() % 5];
            std::memcpy(element->data() + at, &bits, 8);
          }
        const Element ab = apply(Operator(op), Datatype(t), a, b), ba = apply(Operator(op), Datatype(t), b, a);
        EXPECT_TRUE(std::equal(ab.begin(), ab.begin() + spec::size_of(Datatype(t)), ba.begin()))
            << spec::operator_names[op] << ' ' << spec::datatype_names[t];
      }
    }
}

TEST(Lane, CombinesAllElementsAndNoMore) {
  std::vector<float> a(101, 1.f), b(101, 2.f);
  lane(Operator::sum, Datatype::float32)(reinterpret_cast<std::byte*>(a.data()),
                                         reinterpret_cast<const std::byte*>(b.data()), 100);
  EXPECT_EQ(a[0], 3.f);
  EXPECT_EQ(a[99], 3.f);
  EXPECT_EQ(a[100], 1.f);
}

}  // namespace
}  // namespace thalweg
