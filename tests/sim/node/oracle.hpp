// What the collectives must give, evaluated on the processor from the documented order alone: no code of the simulator's
// lanes, joins or control.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <random>
#include <stdexcept>

#include "world.hpp"

namespace thalweg::test {

/// Combines the second block of elements into the first.
using Combine = std::function<void(Bytes&, const Bytes&)>;

template <class T, class Function>
Combine elementwise(Function function) {
  return [function](Bytes& into, const Bytes& from) {
    for (std::size_t i = 0; i + sizeof(T) <= into.size(); i += sizeof(T)) {
      T a, b;
      std::memcpy(&a, &into[i], sizeof a);
      std::memcpy(&b, &from[i], sizeof b);
      const T c = function(a, b);
      std::memcpy(&into[i], &c, sizeof c);
    }
  };
}

struct DoubleInt {  // as MPI_DOUBLE_INT lies in memory
  double value;
  std::int32_t index;
  std::int32_t unused;
};

/// Reductions that the fabric tests use; the lane's own test has the others.
inline Combine combine_of(spec::Operator op, spec::Datatype type) {
  using spec::Datatype, spec::Operator;
  if (op == Operator::sum && type == Datatype::float64) return elementwise<double>(std::plus<>());
  if (op == Operator::sum && type == Datatype::float32) return elementwise<float>(std::plus<>());
  if (op == Operator::prod && type == Datatype::float32) return elementwise<float>(std::multiplies<>());
  if (op == Operator::sum && type == Datatype::complex128) return elementwise<std::complex<double>>(std::plus<>());
  if (op == Operator::max && type == Datatype::int32)
    return elementwise<std::int32_t>([](auto a, auto b) { return std::max(a, b); });
  if (op == Operator::bxor && type == Datatype::uint8)
    return elementwise<std::uint8_t>([](auto a, auto b) { return static_cast<std::uint8_t>(a ^ b); });
  if (op == Operator::sum && type == Datatype::int16)
    return elementwise<std::uint16_t>([](auto a, auto b) { return static_cast<std::uint16_t>(a + b); });
  if (op == Operator::minloc && type == Datatype::pair_float64_int32)
    return elementwise<DoubleInt>([](DoubleInt a, DoubleInt b) {
      const bool first = a.value < b.value || (a.value == b.value && a.index <= b.index);
      return DoubleInt{first ? a.value : b.value, first ? a.index : b.index, 0};
    });
  throw std::logic_error("the oracle has no such reduction");
}

/// Fills a block with values that the reductions above show the order of, and that are no NaN.
inline Bytes random_block(spec::Datatype type, std::uint64_t count, std::uint32_t rank, std::mt19937_64& random) {
  Bytes block(count * spec::size_of(type));
  const auto fill = [&]<class T>(T, auto value) {
    for (std::size_t i = 0; i + sizeof(T) <= block.size(); i += sizeof(T)) {
      const T x = value();
      std::memcpy(&block[i], &x, sizeof x);
    }
  };
  std::normal_distribution<double> normal;
  switch (type) {
    case spec::Datatype::float64:
    case spec::Datatype::complex128:
      fill(double{}, [&] { return std::exp(8 * normal(random)); });
      break;
    case spec::Datatype::float32:
      fill(float{}, [&] { return static_cast<float>(std::exp(normal(random))); });
      break;
    case spec::Datatype::pair_float64_int32:
      fill(DoubleInt{},
           [&] { return DoubleInt{static_cast<double>(random() % 4), static_cast<std::int32_t>(rank), 0}; });
      break;
    default:
      fill(std::uint8_t{}, [&] { return static_cast<std::uint8_t>(random()); });
  }
  return block;
}

/// Two chains, folded from left to right, then combined.
inline Bytes two_chains(const std::vector<Bytes>& operands, const Combine& combine) {
  const std::size_t half = (operands.size() + 1) / 2;
  Bytes first = operands[0];
  for (std::size_t i = 1; i < half; ++i) combine(first, operands[i]);
  if (half < operands.size()) {
    Bytes second = operands[half];
    for (std::size_t i = half + 1; i < operands.size(); ++i) combine(second, operands[i]);
    combine(first, second);
  }
  return first;
}

/// The reduction over the binomial tree whose edges are (v, v without its lowest bit), seen from `rank`.
inline Bytes tree_value(const std::vector<Bytes>& given, std::uint32_t rank, std::uint32_t from,
                        const Combine& combine) {
  std::vector<Bytes> operands{given[rank]};
  for (std::uint32_t bit = 1; bit < 2 * given.size(); bit *= 2) {  // neighbours by ascending edge
    const std::uint32_t other = rank ^ bit;
    if (other >= given.size() || other == from) continue;
    const std::uint32_t upper = std::max(rank, other);
    if ((upper & (upper - 1)) != std::min(rank, other)) continue;
    operands.push_back(tree_value(given, other, rank, combine));
  }
  return two_chains(operands, combine);
}

/// Recursive doubling; ranks beyond the largest power of two are folded in first.
inline Bytes exchange_value(std::vector<Bytes> values, std::uint32_t rank, const Combine& combine) {
  const std::uint32_t power = std::bit_floor(static_cast<std::uint32_t>(values.size()));
  for (std::uint32_t v = power; v < values.size(); ++v) combine(values[v - power], values[v]);
  for (std::uint32_t bit = 1; bit < power; bit *= 2) {
    std::vector<Bytes> next = values;
    for (std::uint32_t v = 0; v < power; ++v) combine(next[v], values[v ^ bit]);
    values = next;
  }
  return values[rank % power];
}

/// What rank's receive buffer must hold; nothing where it receives nothing.
inline Bytes expected(const Job& job, std::uint32_t rank) {
  const auto concatenated = [&] {
    Bytes all;
    for (const Bytes& block : job.send) all.insert(all.end(), block.begin(), block.end());
    return all;
  };
  switch (job.collective) {
    case spec::Collective::broadcast:
      return rank == job.root ? Bytes{} : job.send[job.root];
    case spec::Collective::reduce:
      if (rank != job.root) return {};
      return tree_value(job.send, rank, ~0u, combine_of(job.op, job.type));
    case spec::Collective::allreduce:
      return job.algorithm == spec::Algorithm::exchange ? exchange_value(job.send, rank, combine_of(job.op, job.type))
                                                        : tree_value(job.send, 0, ~0u, combine_of(job.op, job.type));
    case spec::Collective::gather:
      return rank == job.root ? concatenated() : Bytes{};
    case spec::Collective::allgather:
      return concatenated();
    default:
      return {};
  }
}

inline Job make_job(spec::Collective collective, spec::Algorithm algorithm, spec::Operator op, spec::Datatype type,
                    std::uint32_t ranks, std::uint32_t root, std::uint64_t count, std::mt19937_64& random) {
  Job job{collective, algorithm, op, type, root, count, {}, {}, std::vector<Tick>(ranks, -1)};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    job.send.push_back(random_block(type, count, rank, random));
    job.receive.push_back({});
  }
  for (std::uint32_t rank = 0; rank < ranks; ++rank)  // what is not received is not touched, and one byte beyond
    job.receive[rank] = Bytes(expected(job, rank).size() + 1, std::byte{0x5A});
  return job;
}

/// All ranks have completed, with the right bits.
inline void verify(const Job& job) {
  for (std::uint32_t rank = 0; rank < job.send.size(); ++rank) {
    SCOPED_TRACE(::testing::Message() << spec::name(job.collective) << ' ' << spec::name(job.algorithm) << ' '
                                      << spec::name(job.op) << ' ' << spec::name(job.type) << " ranks "
                                      << job.send.size() << " root " << job.root << " count " << job.count << " rank "
                                      << rank);
    ASSERT_GE(job.done[rank], 0) << "never completed";
    Bytes want = expected(job, rank);
    want.push_back(std::byte{0x5A});
    ASSERT_EQ(job.receive[rank].size(), want.size());
    const auto differs = std::ranges::mismatch(job.receive[rank], want).in1 - job.receive[rank].begin();
    ASSERT_EQ(differs, std::ssize(want)) << "first different byte";
  }
}

}  // namespace thalweg::test
