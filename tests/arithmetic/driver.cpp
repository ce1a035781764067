// SPDX-License-Identifier: Apache-2.0
// Compares the RTL's arithmetic with the processor's: every operator on every type that supports it, PAIRS pairs of
// elements each, directed ones first, then random ones; and all pairs of two floating-point formats of 8 bits, and of
// the integers of 8 bits.
//
//   driver PAIRS SEED [OPERATOR]    one line for each operator and type; exit code 1 if a result differs
//   driver halves                   min and max of all pairs of fp16
#include <verilated.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "Vtop.h"
#include "expected.hpp"

namespace {

namespace spec = thalweg::spec;
using spec::Datatype, spec::Operator;

constexpr unsigned kDelay = 15;      // the lanes' latency, and the top's register
constexpr unsigned kSmallDelay = 6;  // that of the small pipelines, and the register before them

/// The lane that has an operator: see arithmetic.sv.
[[nodiscard]] unsigned lane_of(Operator op, Datatype type) {
  using enum Operator;
  if (op == min || op == max || op == minloc || op == maxloc) return 2;
  const unsigned format = fields_of(type).front().format.exponent;
  if (format > 0) return (op == sum ? 3 : 6) + (format == 5 ? 0 : format == 8 ? 1 : 2);
  return op == prod ? 1 : 0;
}

/// An element of up to 16 bytes, of each operand.
struct Elements {
  std::array<std::uint64_t, 2> a{}, b{};

  void put(const Field& field, Operands operands) {
    const unsigned word = field.at / 64, bit = field.at % 64;
    a[word] |= operands.a << bit;
    b[word] |= operands.b << bit;
  }
};

/// The operands of one operator and type: all directed ones, then an endless sequence of random ones.
class Source {
 public:
  Source(Datatype type, std::uint64_t seed) : bytes_(spec::size_of(type)), fields_(fields_of(type)), random_(seed) {
    for (const Field& field : fields_) special_.push_back(special(field));
    const std::vector<Operands> first = directed(fields_[0]);
    if (fields_.size() == 1) {
      for (const Operands pair : first) directed_.emplace_back().put(fields_[0], pair);
      return;
    }
    // For two parts, each pair of the first with some of the second: equal ones, ones that differ in the sign or the
    // lowest bit, any; and zeros of the first, where the second decides, with all.
    const std::uint64_t flip = fields_[1].floating() ? fields_[1].format.sign() : 1;
    for (const Operands pair : first) {
      const std::uint64_t any = special_[1][random_.below(special_[1].size())];
      const std::uint64_t other = special_[1][random_.below(special_[1].size())];
      for (const Operands second : {Operands{any, any}, Operands{any, any ^ flip}, Operands{any, other}})
        add(pair, second);
    }
    const std::uint64_t sign = fields_[0].floating() ? fields_[0].format.sign() : 0;
    for (const Operands zeros : {Operands{0, 0}, Operands{0, sign}, Operands{sign, 0}, Operands{sign, sign}})
      for (const std::uint64_t a : special_[1])
        for (const std::uint64_t b : special_[1]) add(zeros, {a, b});
  }

  [[nodiscard]] std::size_t directed_pairs() const { return directed_.size(); }

  void fill(Flit& a, Flit& b) {
    a = b = {};
    for (std::size_t at = 0; at < sizeof(Flit); at += bytes_) {
      const Elements elements = next();
      std::memcpy(reinterpret_cast<std::byte*>(a.data()) + at, elements.a.data(), bytes_);
      std::memcpy(reinterpret_cast<std::byte*>(b.data()) + at, elements.b.data(), bytes_);
    }
  }

 private:
  void add(Operands first, Operands second) {
    directed_.emplace_back().put(fields_[0], first);
    directed_.back().put(fields_[1], second);
  }

  [[nodiscard]] Elements next() {
    if (position_ < directed_.size()) return directed_[position_++];
    Elements elements;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      Operands operands = drawn(fields_[i], special_[i], random_);
      if (fields_.size() > 1 && random_.below(2)) operands.b = operands.a;  // pairs whose other part decides
      elements.put(fields_[i], operands);
    }
    return elements;
  }

  std::size_t bytes_;
  std::vector<Field> fields_;
  std::vector<std::vector<std::uint64_t>> special_;
  std::vector<Elements> directed_;
  std::size_t position_ = 0;
  Random random_;
};

void print(const char* what, const Flit& flit) {
  std::printf("  %s %016" PRIx64 " %016" PRIx64 " %016" PRIx64 " %016" PRIx64 "\n", what, flit[3], flit[2], flit[1],
              flit[0]);
}

/// At least `pairs` pairs, and all directed ones; false if a result differs.
[[nodiscard]] bool check(Vtop& model, Operator op, Datatype type, std::uint64_t pairs, std::uint64_t seed) {
  const std::clock_t start = std::clock();
  const unsigned lane = lane_of(op, type);
  const Expect expect = expectation(op, type);
  Source source(type, seed);
  pairs = std::max<std::uint64_t>(pairs, source.directed_pairs());
  const std::uint64_t flits = (pairs * spec::size_of(type) + sizeof(Flit) - 1) / sizeof(Flit);
  std::array<Flit, kDelay> a, b;
  model.operation_i = static_cast<std::uint8_t>(op);
  model.datatype_i = static_cast<std::uint8_t>(type);
  for (std::uint64_t t = 0; t < flits + kDelay; ++t) {
    Flit &now_a = a[t % kDelay], &now_b = b[t % kDelay];
    if (t >= kDelay) {
      Flit expected, got;
      expect(now_a, now_b, expected);
      std::memcpy(got.data(), &model.result_o[8 * lane], sizeof got);
      if (got != expected) {
        std::printf("%s of %s: seed %" PRIu64 ", flit %" PRIu64 " differs\n", spec::name(op).data(),
                    spec::name(type).data(), seed, t - kDelay);
        print("a       ", now_a);
        print("b       ", now_b);
        print("expected", expected);
        print("got     ", got);
        return false;
      }
    }
    source.fill(now_a, now_b);
    std::memcpy(&model.a_i, now_a.data(), sizeof now_a);
    std::memcpy(&model.b_i, now_b.data(), sizeof now_b);
    model.clk_i = 0;
    model.eval();
    model.clk_i = static_cast<std::uint16_t>(1 << lane);
    model.eval();
  }
  std::printf("%-6s %-21s %11" PRIu64 " pairs equal, %zu of them directed, %.1f s\n", spec::name(op).data(),
              spec::name(type).data(), flits * sizeof(Flit) / spec::size_of(type), source.directed_pairs(),
              static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  std::fflush(stdout);
  return true;
}

/// All pairs of a format of 8 bits: combinational, and through the pipelines.
[[nodiscard]] bool check_small(Vtop& model, unsigned index, Format format) {
  struct Expected {
    unsigned a, b, sum, product;
  };
  std::array<Expected, kSmallDelay> under_way{};
  const auto part = [](auto port, unsigned bits, unsigned at) {
    return static_cast<unsigned>(port >> (bits * at) & ((1U << bits) - 1));
  };
  const auto equal = [&](const Expected& expected, unsigned at) {
    const unsigned sum = part(model.small_sum_o, 8, at), product = part(model.small_product_o, 8, at);
    if (sum == expected.sum && product == expected.product) return true;
    std::printf("%02x, %02x with %u bits of exponent: sum %02x, product %02x\n", expected.a, expected.b,
                format.exponent, sum, product);
    return false;
  };
  for (unsigned t = 0; t < 65536 + kSmallDelay; ++t) {
    const unsigned a = t / 256 % 256, b = t % 256;
    const double x = format.value(a), y = format.value(b);
    const bool number_x = x == x, number_y = y == y, zeros = x == 0 && y == 0;
    const bool y_first = y < x || (zeros && std::signbit(y) && !std::signbit(x));
    const unsigned order =
        (y_first ? 16U : 0) | (a == b ? 8U : 0) | (zeros ? 4U : 0) | (number_x ? 0 : 2U) | (number_y ? 0 : 1U);
    const unsigned compared = number_x && number_y ? 31 : 15;  // a NaN is not ordered
    const Expected now{.a = a,
                       .b = b,
                       .sum = static_cast<unsigned>(format.rounded(x + y)),
                       .product = static_cast<unsigned>(format.rounded(x * y))};
    model.small_a_i = static_cast<std::uint8_t>(a);
    model.small_b_i = static_cast<std::uint8_t>(b);
    model.small_clk_i = 0;
    model.eval();
    Expected& due = under_way[t % kSmallDelay];
    if (!equal(now, index) || (t >= kSmallDelay && !equal(due, 2 + index))) return false;
    if (((part(model.small_compared_o, 5, index) ^ order) & compared) != 0) {
      std::printf("%02x, %02x with %u bits of exponent: order %02x\n", a, b, format.exponent,
                  part(model.small_compared_o, 5, index));
      return false;
    }
    due = now;
    model.small_clk_i = 1;
    model.eval();
  }
  std::printf("sum, product, order of %u + %u bits: all 65536 pairs equal\n", format.exponent, format.fraction);
  return true;
}

/// min or max of all pairs of a type of 1 or 2 bytes: combinational, and for 1 byte, which takes no time, through the
/// pipeline.
template <class T>
[[nodiscard]] bool check_order(Vtop& model, Operator op, Datatype type) {
  constexpr std::uint64_t kValues = std::uint64_t{1} << (8 * sizeof(T)), kLanes = sizeof(Flit) / sizeof(T);
  constexpr bool kPipelined = sizeof(T) == 1;
  const Expect expect = expectation(op, type);
  std::array<Flit, kSmallDelay> under_way{};
  const auto equal = [&](const Flit& expected, unsigned which, std::uint64_t flit) {
    if (std::memcmp(&model.order_o[8 * which], expected.data(), sizeof expected) == 0) return true;
    Flit got;
    std::memcpy(got.data(), &model.order_o[8 * which], sizeof got);
    std::printf("%s of %s differs: %#" PRIx64 " and those from %#" PRIx64 " on%s\n", spec::name(op).data(),
                spec::name(type).data(), flit * kLanes / kValues % kValues, flit * kLanes % kValues,
                which ? ", pipelined" : "");
    print("expected", expected);
    print("got     ", got);
    return false;
  };
  model.operation_i = static_cast<std::uint8_t>(op);
  model.datatype_i = static_cast<std::uint8_t>(type);
  for (std::uint64_t t = 0; t < kValues * kValues / kLanes + kSmallDelay; ++t) {
    std::array<T, kLanes> a, b;
    for (std::uint64_t i = 0; i < kLanes; ++i) {
      a[i] = static_cast<T>(t * kLanes / kValues);
      b[i] = static_cast<T>(t * kLanes + i);
    }
    const auto flit_a = std::bit_cast<Flit>(a), flit_b = std::bit_cast<Flit>(b);
    Flit now;
    expect(flit_a, flit_b, now);
    std::memcpy(&model.order_a_i, a.data(), sizeof a);
    std::memcpy(&model.order_b_i, b.data(), sizeof b);
    model.small_clk_i = 0;
    model.eval();
    Flit& due = under_way[t % kSmallDelay];
    if (!equal(now, 0, t) || (kPipelined && t >= kSmallDelay && !equal(due, 1, t - kSmallDelay))) return false;
    due = now;
    if (!kPipelined) continue;
    model.small_clk_i = 1;
    model.eval();
  }
  std::printf("%s of %s: all %" PRIu64 " pairs equal\n", spec::name(op).data(), spec::name(type).data(),
              kValues * kValues);
  std::fflush(stdout);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  VerilatedContext context;
  Vtop model{&context};
  bool equal = true;
  if (argc == 2 && std::string_view(argv[1]) == "halves") {
    for (const Operator op : {Operator::min, Operator::max})
      equal = check_order<std::uint16_t>(model, op, Datatype::float16) && equal;
    return equal ? 0 : 1;
  }
  if (argc < 3) {
    std::fprintf(stderr, "driver PAIRS SEED [OPERATOR], or driver halves\n");
    return 2;
  }
  const std::uint64_t pairs = std::strtoull(argv[1], nullptr, 10), seed = std::strtoull(argv[2], nullptr, 10);
  const std::string_view wanted = argc > 3 ? argv[3] : "";
  equal = check_small(model, 0, {4, 3}) && check_small(model, 1, {5, 2});
  for (const Operator op : {Operator::min, Operator::max})
    for (const Datatype type : {Datatype::int8, Datatype::uint8})
      equal = check_order<std::uint8_t>(model, op, type) && equal;
  for (unsigned op = 0; op < spec::operator_names.size(); ++op)
    for (unsigned type = 0; type < spec::datatype_names.size(); ++type)
      if (spec::supported(Operator(op), Datatype(type)) && (wanted.empty() || spec::name(Operator(op)) == wanted))
        equal = check(model, Operator(op), Datatype(type), pairs, seed) && equal;
  return equal ? 0 : 1;
}
