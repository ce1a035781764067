// SPDX-License-Identifier: Apache-2.0
#include "reduce/lane.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "reduce/user_operator.hpp"

namespace thalweg {
namespace {

using spec::Datatype;
using spec::Operator;

/// fp16 as stored in memory; arithmetic is in float.
struct Half {
  _Float16 bits;
  operator float() const { return static_cast<float>(bits); }
};

template <class T>
struct Complex {
  T real, imaginary;
};

template <class T>
inline constexpr bool is_floating = std::floating_point<T> || std::same_as<T, Half>;

template <class T>
T canonical(T x) {
  if constexpr (std::floating_point<T>)
    return x == x ? x : std::numeric_limits<T>::quiet_NaN();
  else
    return x;
}

template <class T>
T rounded(float x) {
  return {static_cast<_Float16>(canonical(x))};
}

/// Type with wrap-around arithmetic: unsigned, and not promoted to int.
template <class T>
using Unsigned = std::conditional_t<(sizeof(T) < sizeof(unsigned)), unsigned, std::make_unsigned_t<T>>;

struct Sum {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::same_as<T, Half>)
      return rounded<T>(static_cast<float>(a) + static_cast<float>(b));
    else if constexpr (std::floating_point<T>)
      return canonical(a + b);
    else
      return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
  }
  template <class T>
  Complex<T> operator()(Complex<T> a, Complex<T> b) const {
    return {(*this)(a.real, b.real), (*this)(a.imaginary, b.imaginary)};
  }
};

struct Product {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::same_as<T, Half>)
      return rounded<T>(static_cast<float>(a) * static_cast<float>(b));
    else if constexpr (std::floating_point<T>)
      return canonical(a * b);
    else
      return static_cast<T>(static_cast<Unsigned<T>>(a) * static_cast<Unsigned<T>>(b));
  }
};

template <class T>
bool negative(T x) {
  return std::signbit(static_cast<std::conditional_t<std::same_as<T, Half>, float, T>>(x));
}

/// True if number a precedes number b; -0 precedes +0.
template <class T>
bool precedes(T a, T b) {
  if constexpr (is_floating<T>)
    return a < b || (a == b && negative(a) && !negative(b));
  else
    return a < b;
}

template <class T, bool Largest>
T extreme(T a, T b) {
  if constexpr (is_floating<T>) {
    if (!(a == a && b == b)) {
      if constexpr (std::same_as<T, Half>)
        return rounded<T>(std::numeric_limits<float>::quiet_NaN());
      else
        return std::numeric_limits<T>::quiet_NaN();
    }
  }
  return precedes(a, b) != Largest ? a : b;
}

/// Order of a pair's indices; for floating types a NaN comes last.
template <class T>
bool index_precedes(T a, T b) {
  if constexpr (is_floating<T>)
    return a == a && (b != b || precedes(a, b));
  else
    return a < b;
}

struct Minimum {
  template <class T>
  T operator()(T a, T b) const {
    return extreme<T, false>(a, b);
  }
};
struct Maximum {
  template <class T>
  T operator()(T a, T b) const {
    return extreme<T, true>(a, b);
  }
};

struct BitAnd {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
struct LogicalAnd {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>((a != 0) & (b != 0));
  }
};
struct LogicalOr {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>((a != 0) | (b != 0));
  }
};
struct LogicalXor {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>((a != 0) != (b != 0));
  }
};

template <class T, class Combine>
void each(std::byte* __restrict accumulator, const std::byte* __restrict operand, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i) {
    T a, b;
    std::memcpy(&a, accumulator + i * sizeof(T), sizeof(T));
    std::memcpy(&b, operand + i * sizeof(T), sizeof(T));
    const T result = Combine{}(a, b);
    std::memcpy(accumulator + i * sizeof(T), &result, sizeof(T));
  }
}

/// Pairs of a value and an index; the index is at byte IndexAt of an element of Size bytes.
template <class Value, class Index, std::size_t IndexAt, std::size_t Size, bool Largest>
void locate(std::byte* __restrict accumulator, const std::byte* __restrict operand, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i) {
    std::byte* at = accumulator + i * Size;
    Value a, b;
    Index at_a, at_b;
    std::memcpy(&a, at, sizeof a);
    std::memcpy(&at_a, at + IndexAt, sizeof at_a);
    std::memcpy(&b, operand + i * Size, sizeof b);
    std::memcpy(&at_b, operand + i * Size + IndexAt, sizeof at_b);
    const bool number_a = a == a, number_b = b == b;
    bool take_b;
    if (number_a != number_b)
      take_b = number_a;
    else if (number_a && a != b)
      take_b = (b < a) != Largest;
    else if (index_precedes(at_a, at_b) || index_precedes(at_b, at_a))
      take_b = index_precedes(at_b, at_a);
    else
      take_b = number_a && precedes(b, a) != Largest;
    if (take_b) {
      a = b;
      at_a = at_b;
    }
    a = canonical(a);
    at_a = canonical(at_a);
    std::memset(at, 0, Size);
    std::memcpy(at, &a, sizeof a);
    std::memcpy(at + IndexAt, &at_a, sizeof at_a);
  }
}

template <class T>
LaneFunction arithmetic(Operator op) {
  switch (op) {
    case Operator::sum:
      return each<T, Sum>;
    case Operator::prod:
      return each<T, Product>;
    case Operator::min:
      return each<T, Minimum>;
    case Operator::max:
      return each<T, Maximum>;
    default:
      return nullptr;
  }
}

template <class T>
LaneFunction bitwise(Operator op) {
  switch (op) {
    case Operator::band:
      return each<T, BitAnd>;
    case Operator::bor:
      return each<T, BitOr>;
    case Operator::bxor:
      return each<T, BitXor>;
    default:
      return nullptr;
  }
}

template <class T>
LaneFunction integer(Operator op) {
  switch (op) {
    case Operator::land:
      return each<T, LogicalAnd>;
    case Operator::lor:
      return each<T, LogicalOr>;
    case Operator::lxor:
      return each<T, LogicalXor>;
    default:
      break;
  }
  const LaneFunction found = bitwise<T>(op);
  return found ? found : arithmetic<T>(op);
}

template <class T>
LaneFunction complex(Operator op) {
  return op == Operator::sum ? each<Complex<T>, Sum> : LaneFunction{};
}

template <class Value, class Index, std::size_t IndexAt, std::size_t Size>
LaneFunction location(Operator op) {
  if (op == Operator::minloc) return locate<Value, Index, IndexAt, Size, false>;
  if (op == Operator::maxloc) return locate<Value, Index, IndexAt, Size, true>;
  return nullptr;
}

}  // namespace

LaneFunction lane(Operator op, Datatype type) {
  if (!spec::supported(op, type)) return nullptr;
  switch (type) {
    case Datatype::byte:
      return bitwise<std::uint8_t>(op);
    case Datatype::int8:
      return integer<std::int8_t>(op);
    case Datatype::uint8:
      return integer<std::uint8_t>(op);
    case Datatype::int16:
      return integer<std::int16_t>(op);
    case Datatype::uint16:
      return integer<std::uint16_t>(op);
    case Datatype::int32:
      return integer<std::int32_t>(op);
    case Datatype::uint32:
      return integer<std::uint32_t>(op);
    case Datatype::int64:
      return integer<std::int64_t>(op);
    case Datatype::uint64:
      return integer<std::uint64_t>(op);
    case Datatype::float16:
      return arithmetic<Half>(op);
    case Datatype::float32:
      return arithmetic<float>(op);
    case Datatype::float64:
      return arithmetic<double>(op);
    case Datatype::complex64:
      return complex<float>(op);
    case Datatype::complex128:
      return complex<double>(op);
    case Datatype::pair_int32_int32:
      return location<std::int32_t, std::int32_t, 4, 8>(op);
    case Datatype::pair_float32_int32:
      return location<float, std::int32_t, 4, 8>(op);
    case Datatype::pair_float64_int32:
      return location<double, std::int32_t, 8, 16>(op);
    case Datatype::pair_int64_int32:
      return location<std::int64_t, std::int32_t, 8, 16>(op);
    case Datatype::pair_int16_int32:
      return location<std::int16_t, std::int32_t, 4, 8>(op);
    case Datatype::pair_float32_float32:
      return location<float, float, 4, 8>(op);
    case Datatype::pair_float64_float64:
      return location<double, double, 8, 16>(op);
  }
  return nullptr;
}

LaneFunction lane(const std::vector<UserOperator>& own, Operator op, Datatype type) {
  const UserOperator* user = user_operator(own, op);
  return user ? user->combine : lane(op, type);
}

FlitLane::FlitLane(unsigned latency, std::vector<UserOperator> own) : latency_(latency), own_(std::move(own)) {
  for (const UserOperator& user : own_) latency = std::max(latency, user.latency);
  due_.resize(latency);
}

void FlitLane::step(const FlitPair* pair) {
  due_[now_].reset();
  if (pair) {
    const UserOperator* user = user_operator(own_, pair->op);
    std::optional<Result>& due = due_[(now_ + (user ? user->latency : latency_)) % due_.size()];
    if (due) throw std::logic_error("two results of a lane in one cycle");
    due = combined(*pair);
  }
  now_ = (now_ + 1) % due_.size();
}

FlitLane::Result FlitLane::combined(const FlitPair& pair) const {
  const LaneFunction combine = lane(own_, pair.op, pair.type);
  const std::size_t from = pair.head ? 8 : 0;
  const std::size_t elements = (pair.bytes - from) / spec::size_of(pair.type);
  Result result{pair.a, pair.tag};
  auto* data = reinterpret_cast<std::byte*>(result.data.data());
  combine(data + from, reinterpret_cast<const std::byte*>(pair.b.data()) + from, elements);
  std::fill(data + pair.bytes, data + sizeof result.data, std::byte{0});
  return result;
}

}  // namespace thalweg
