// SPDX-License-Identifier: Apache-2.0
// The processor's results for the elements of two flits, by the rules of docs/collectives.md.
#pragma once

#include <cstring>
#include <functional>
#include <stdexcept>
#include <tuple>
#include <type_traits>

#include "operands.hpp"

using Flit = std::array<std::uint64_t, 4>;
using Expect = std::function<void(const Flit& a, const Flit& b, Flit& result)>;

template <class T>
[[nodiscard]] T element(const Flit& flit, std::size_t at) {
  T value;
  std::memcpy(&value, reinterpret_cast<const std::byte*>(flit.data()) + at, sizeof value);
  return value;
}

template <class T, class Combine>
[[nodiscard]] Expect each(Combine combine) {
  return [combine](const Flit& a, const Flit& b, Flit& result) {
    for (std::size_t at = 0; at < sizeof(Flit); at += sizeof(T)) {
      const T combined = combine(element<T>(a, at), element<T>(b, at));
      std::memcpy(reinterpret_cast<std::byte*>(result.data()) + at, &combined, sizeof combined);
    }
  };
}

template <class T>
[[nodiscard]] T canonical(T x) {
  return x == x ? x
                : std::bit_cast<T>(static_cast<std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>(
                      sizeof(T) == 4 ? kSingle.nan() : kDouble.nan()));
}

/// Equal numbers differ in their bits only if they are zeros, in the sign alone: the smaller one has it if either has.
template <class T>
[[nodiscard]] T extreme(T a, T b, bool largest) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  if (a != a || b != b) return canonical(a + b);
  if (a < b || b < a) return (a < b) == largest ? b : a;
  const auto x = std::bit_cast<Bits>(a), y = std::bit_cast<Bits>(b);
  return std::bit_cast<T>(largest ? x & y : x | y);
}

template <class T>
[[nodiscard]] Expect of_floats(thalweg::spec::Operator op) {
  using enum thalweg::spec::Operator;
  switch (op) {
    case sum:
      return each<T>([](T a, T b) { return canonical(a + b); });
    case prod:
      return each<T>([](T a, T b) { return canonical(a * b); });
    default:
      return each<T>([largest = op == max](T a, T b) { return extreme(a, b, largest); });
  }
}

[[nodiscard]] inline Expect of_halves(thalweg::spec::Operator op) {
  using enum thalweg::spec::Operator;
  static const std::vector<double> values = [] {
    std::vector<double> all(65536);
    for (unsigned word = 0; word < all.size(); ++word) all[word] = kHalf.value(word);
    return all;
  }();
  using T = std::uint16_t;
  switch (op) {
    case sum:
      return each<T>([](T a, T b) { return static_cast<T>(kHalf.rounded(values[a] + values[b])); });
    case prod:
      return each<T>([](T a, T b) { return static_cast<T>(kHalf.rounded(values[a] * values[b])); });
    default:
      return each<T>([largest = op == max](T a, T b) {
        if (values[a] != values[a] || values[b] != values[b]) return static_cast<T>(kHalf.nan());
        if (values[a] != values[b]) return (values[a] < values[b]) == largest ? b : a;
        return static_cast<T>(largest ? a & b : a | b);
      });
  }
}

template <class T>
[[nodiscard]] Expect of_integers(thalweg::spec::Operator op) {
  using enum thalweg::spec::Operator;
  using Wide = unsigned __int128;
  switch (op) {
    case sum:
      return each<T>([](T a, T b) { return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b)); });
    case prod:
      return each<T>([](T a, T b) { return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b)); });
    case min:
      return each<T>([](T a, T b) { return std::min(a, b); });
    case max:
      return each<T>([](T a, T b) { return std::max(a, b); });
    case band:
      return each<T>([](T a, T b) { return static_cast<T>(a & b); });
    case bor:
      return each<T>([](T a, T b) { return static_cast<T>(a | b); });
    case bxor:
      return each<T>([](T a, T b) { return static_cast<T>(a ^ b); });
    case land:
      return each<T>([](T a, T b) { return static_cast<T>(a && b); });
    case lor:
      return each<T>([](T a, T b) { return static_cast<T>(a || b); });
    default:
      return each<T>([](T a, T b) { return static_cast<T>(!a != !b); });
  }
}

/// Sort key whose minimum is the winner: NaN, then value, index (a NaN last, -0 before +0), and sign of a zero.
template <class Value, class Index>
[[nodiscard]] auto rank(Value value, Index index, bool largest) {
  const bool number = value == value, indexed = index == index;
  const auto negative = [](auto x) {
    if constexpr (std::is_floating_point_v<decltype(x)>) return std::signbit(x);
    return false;
  };
  Value up = number ? value : Value{};
  if (largest) {
    if constexpr (std::is_floating_point_v<Value>)
      up = -up;
    else
      up = static_cast<Value>(~up);
  }
  return std::tuple(number, up, !indexed, indexed ? index : Index{}, indexed && !negative(index),
                    number && negative(value) == largest);
}

template <class Value, class Index, std::size_t IndexAt, std::size_t Size>
[[nodiscard]] Expect of_pairs(thalweg::spec::Operator op) {
  return [largest = op == thalweg::spec::Operator::maxloc](const Flit& a, const Flit& b, Flit& result) {
    result = {};
    for (std::size_t at = 0; at < sizeof(Flit); at += Size) {
      const auto in_a = rank(element<Value>(a, at), element<Index>(a, at + IndexAt), largest);
      const auto in_b = rank(element<Value>(b, at), element<Index>(b, at + IndexAt), largest);
      const Flit& winner = in_b < in_a ? b : a;
      auto value = element<Value>(winner, at);
      auto index = element<Index>(winner, at + IndexAt);
      if constexpr (std::is_floating_point_v<Value>) value = canonical(value);
      if constexpr (std::is_floating_point_v<Index>) index = canonical(index);
      auto* to = reinterpret_cast<std::byte*>(result.data()) + at;
      std::memcpy(to, &value, sizeof value);
      std::memcpy(to + IndexAt, &index, sizeof index);
    }
  };
}

[[nodiscard]] inline Expect expectation(thalweg::spec::Operator op, thalweg::spec::Datatype type) {
  using enum thalweg::spec::Datatype;
  switch (type) {
    case byte:
    case uint8:
      return of_integers<std::uint8_t>(op);
    case int8:
      return of_integers<std::int8_t>(op);
    case int16:
      return of_integers<std::int16_t>(op);
    case uint16:
      return of_integers<std::uint16_t>(op);
    case int32:
      return of_integers<std::int32_t>(op);
    case uint32:
      return of_integers<std::uint32_t>(op);
    case int64:
      return of_integers<std::int64_t>(op);
    case uint64:
      return of_integers<std::uint64_t>(op);
    case float16:
      return of_halves(op);
    case float32:
    case complex64:
      return of_floats<float>(op);
    case float64:
    case complex128:
      return of_floats<double>(op);
    case pair_int32_int32:
      return of_pairs<std::int32_t, std::int32_t, 4, 8>(op);
    case pair_float32_int32:
      return of_pairs<float, std::int32_t, 4, 8>(op);
    case pair_float64_int32:
      return of_pairs<double, std::int32_t, 8, 16>(op);
    case pair_int64_int32:
      return of_pairs<std::int64_t, std::int32_t, 8, 16>(op);
    case pair_int16_int32:
      return of_pairs<std::int16_t, std::int32_t, 4, 8>(op);
    case pair_float32_float32:
      return of_pairs<float, float, 4, 8>(op);
    case pair_float64_float64:
      return of_pairs<double, double, 8, 16>(op);
  }
  throw std::logic_error("a type without arithmetic");
}
