// SPDX-License-Identifier: Apache-2.0
// The expected results of collectives, evaluated on the processor from the documented order alone, without code of the
// simulator's lanes, joins or control.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <stdexcept>

#include "world.hpp"

namespace thalweg::mpi_fpga::test {

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

struct DoubleInt {  // memory layout of MPI_DOUBLE_INT
  double value;
  std::int32_t index;
  std::int32_t unused;
};

/// Reductions for the fabric tests; the lane's own test covers the others.
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

/// Fills a block with values that make the order of the reductions above visible, and that are no NaN.
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

/// Two chains, each folded from left to right, then combined.
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

/// The reduction over the part of a tree that is reached from `vertex` without passing `from`.
inline Bytes tree_value(const std::vector<Bytes>& given, const Order& order, std::uint32_t vertex, std::uint32_t from,
                        const Combine& combine) {
  std::vector<Bytes> operands;
  if (vertex < given.size()) operands.push_back(given[vertex]);
  for (const std::uint32_t other : order.neighbours[vertex])
    if (other != from) operands.push_back(tree_value(given, order, other, vertex, combine));
  return two_chains(operands, combine);
}

/// In each stage, ranks whose positions differ in that stage alone combine their values in the order of these
/// positions.
inline Bytes stages_value(std::vector<Bytes> values, const Order& order, const Combine& combine) {
  for (const auto& places : order.places) {
    std::vector<Bytes> next;
    for (std::uint32_t rank = 0; rank < values.size(); ++rank) {
      std::map<unsigned, Bytes> group;
      for (std::uint32_t other = 0; other < values.size(); ++other)
        if (std::ranges::all_of(order.places, [&](const auto& of) { return &of == &places || of[other] == of[rank]; }))
          group[places[other]] = values[other];
      std::vector<Bytes> operands;
      for (auto& [place, value] : group) operands.push_back(value);
      next.push_back(two_chains(operands, combine));
    }
    values = next;
  }
  return values[0];
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

/// Combined value of the aligned group of `size` ranks from `first`, by recursive halves.
inline Bytes group_value(const std::vector<Bytes>& values, std::uint32_t first, std::uint32_t size,
                         const Combine& combine) {
  if (size == 1) return values[first];
  Bytes whole = group_value(values, first, size / 2, combine);
  combine(whole, group_value(values, first + size / 2, size / 2, combine));
  return whole;
}

/// The own operand, if included, and the groups that make up the lower ranks, the nearest and smallest first.
inline Bytes scan_value(const std::vector<Bytes>& values, std::uint32_t rank, bool inclusive, const Combine& combine) {
  std::optional<Bytes> result;
  if (inclusive) result = values[rank];
  for (std::uint32_t size = 1, below = rank; below > 0; size *= 2) {
    if (!(rank & size)) continue;
    below -= size;
    const Bytes group = group_value(values, below, size, combine);
    if (result)
      combine(*result, group);
    else
      result = group;
  }
  return result.value_or(Bytes{});
}

/// The block of rank `giver` for rank `receiver`.
inline Bytes block_for(const Job& job, std::uint32_t giver, std::uint32_t receiver) {
  const Bytes& all = job.send[giver];
  const std::size_t size = spec::size_of(job.type);
  Block block{receiver * job.count, job.count};
  if (!job.send_blocks[giver].empty())
    block = job.send_blocks[giver][receiver];
  else if (all.size() < job.send.size() * job.count * size || job.count == 0)
    return all;  // the same for all
  const auto from = all.begin() + static_cast<std::ptrdiff_t>(block.first * size);
  return {from, from + static_cast<std::ptrdiff_t>(block.count * size)};
}

/// Recursive halving: the values of two ranks that differ in the highest bit are combined, and so on down to the lowest
/// bit.
inline Bytes halving_value(const std::vector<Bytes>& values, const Combine& combine) {
  if (values.size() == 1) return values[0];
  const std::size_t half = values.size() / 2;
  std::vector<Bytes> next(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half));
  for (std::size_t i = 0; i < half; ++i) combine(next[i], values[half + i]);
  return halving_value(next, combine);
}

/// Whole packets are distributed evenly to several trees, at most one tree per packet; each tree combines its piece in
/// its own order.
inline Bytes pieces_value(const std::vector<Bytes>& given, const std::vector<const Order*>& orders, std::size_t element,
                          unsigned packet_flits, const Combine& combine) {
  const std::size_t packet = element == 16 ? 16 * (2 * packet_flits - 1) : (32 * packet_flits - 8) / element * element;
  const std::size_t packets = (given[0].size() + packet - 1) / packet,
                    trees = std::clamp<std::size_t>(packets, 1, orders.size());
  Bytes result;
  for (std::size_t tree = 0; tree < trees; ++tree) {
    const auto end = [&](std::size_t i) {
      return std::ptrdiff_t(std::min(given[0].size(), packets * i / trees * packet));
    };
    std::vector<Bytes> piece;
    for (const Bytes& block : given) piece.emplace_back(block.begin() + end(tree), block.begin() + end(tree + 1));
    const Bytes value = tree_value(piece, *orders[tree], orders[tree]->top, ~0u, combine);
    result.insert(result.end(), value.begin(), value.end());
  }
  return result;
}

/// The ranks' operands for rank `receiver`, combined around vertex `root`.
inline Bytes reduced(const Job& job, std::uint32_t root, std::uint32_t receiver, const Order& order) {
  std::vector<Bytes> given;
  for (std::uint32_t rank = 0; rank < job.send.size(); ++rank) given.push_back(block_for(job, rank, receiver));
  const Combine combine = combine_of(job.op, job.type);
  const bool rings = job.algorithm == spec::Algorithm::ring && order.slot_packets > 1,
             whole = job.collective == spec::Collective::reduce_scatter && !rings;
  if (const auto parts = order.parts.find(job.algorithm); parts != order.parts.end() && job.counts.empty() && !whole) {
    std::vector<const Order*> orders;
    for (std::size_t i = 0; i < parts->second.size(); ++i) {
      const bool all = job.collective == spec::Collective::allreduce;
      orders.push_back(all ? &order.for_all.at(job.algorithm)[i] : &parts->second[i][receiver]);
    }
    return pieces_value(given, orders, spec::size_of(job.type), order.packet_flits, combine);
  }
  if (job.algorithm == spec::Algorithm::halving && job.collective == spec::Collective::reduce_scatter &&
      job.counts.empty() && std::has_single_bit(given.size()))
    return halving_value(given, combine);
  if (job.algorithm != spec::Algorithm::exchange || job.collective != spec::Collective::allreduce)
    return tree_value(given, order, root, ~0u, combine);
  return order.places.empty() ? exchange_value(given, receiver, combine) : stages_value(given, order, combine);
}

/// Expected contents of the rank's receive buffer; bytes not written are `untouched`.
inline Bytes expected(const Job& job, std::uint32_t rank, const Order& order) {
  constexpr std::byte untouched{0x5A};
  const auto collected = [&] {
    Bytes all;
    for (std::uint32_t giver = 0; giver < job.send.size(); ++giver) {
      const Bytes block = block_for(job, giver, rank);
      const std::size_t at = job.receive_blocks[rank].empty()
                                 ? all.size()
                                 : job.receive_blocks[rank][giver].first * spec::size_of(job.type);
      if (all.size() < at + block.size()) all.resize(at + block.size(), untouched);
      std::ranges::copy(block, all.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return all;
  };
  switch (job.collective) {
    case spec::Collective::broadcast:
      return rank == job.root ? Bytes{} : job.send[job.root];
    case spec::Collective::reduce:
      return rank == job.root ? reduced(job, rank, rank, order) : Bytes{};
    case spec::Collective::allreduce:
      return reduced(job, order.top, rank, order);
    case spec::Collective::gather:
      return rank == job.root ? collected() : Bytes{};
    case spec::Collective::allgather:
    case spec::Collective::alltoall:
      return collected();
    case spec::Collective::scatter:
      return block_for(job, job.root, rank);
    case spec::Collective::reduce_scatter:
      return reduced(job, order.top, rank, order);
    case spec::Collective::scan:
    case spec::Collective::exscan:
      return scan_value(job.send, rank, job.collective == spec::Collective::scan, combine_of(job.op, job.type));
    default:
      return {};
  }
}

/// Gives the job its receive buffers, each one byte longer than the received data, to check that this byte is not
/// written.
inline Job with_buffers(Job job) {
  const std::size_t ranks = job.send.size();
  job.receive.resize(ranks);
  job.send_blocks.resize(ranks);
  job.receive_blocks.resize(ranks);
  job.done.assign(ranks, -1);
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    job.receive[rank] =
        Bytes(expected(job, rank, Order::by_rank(static_cast<std::uint32_t>(ranks))).size() + 1, std::byte{0x5A});
  return job;
}

inline Job make_job(spec::Collective collective, spec::Algorithm algorithm, spec::Operator op, spec::Datatype type,
                    std::uint32_t ranks, std::uint32_t root, std::uint64_t count, std::mt19937_64& random) {
  Job job{.collective = collective, .algorithm = algorithm, .op = op, .type = type, .root = root, .count = count};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const bool for_each = (collective == spec::Collective::scatter && rank == root) ||
                          collective == spec::Collective::reduce_scatter || collective == spec::Collective::alltoall;
    job.send.push_back(random_block(type, count * (for_each ? ranks : 1), rank, random));
  }
  return with_buffers(std::move(job));
}

/// Blocks of the given sizes, in random order and with gaps.
inline std::vector<Block> lay_out(const std::vector<std::uint64_t>& counts, std::mt19937_64& random) {
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::shuffle(order, random);
  std::vector<Block> blocks(counts.size());
  std::uint64_t end = 0;
  for (const std::size_t i : order) {
    blocks[i] = {end + random() % 3, counts[i]};
    end = blocks[i].first + counts[i];
  }
  return blocks;
}

/// An all-to-all in which rank i has counts[i][j] elements for rank j.
inline Job make_personal_job(spec::Datatype type, const std::vector<std::vector<std::uint64_t>>& counts,
                             std::mt19937_64& random) {
  Job job{.collective = spec::Collective::alltoall, .type = type};
  const auto ranks = static_cast<std::uint32_t>(counts.size());
  job.counts.assign(ranks, 0);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    job.send_blocks.push_back(lay_out(counts[rank], random));
    std::uint64_t given = 0;
    for (const Block& block : job.send_blocks[rank]) given = std::max(given, block.first + block.count);
    job.send.push_back(random_block(type, given, rank, random));
    std::vector<std::uint64_t> taken(ranks);
    for (std::uint32_t giver = 0; giver < ranks; ++giver) taken[giver] = counts[giver][rank];
    job.receive_blocks.push_back(lay_out(taken, random));
  }
  return with_buffers(std::move(job));
}

/// A v-form in which rank i gives, or takes, counts[i] elements.
inline Job make_vector_job(spec::Collective collective, spec::Operator op, spec::Datatype type, std::uint32_t root,
                           const std::vector<std::uint64_t>& counts, std::mt19937_64& random) {
  Job job{.collective = collective, .op = op, .type = type, .root = root, .counts = counts};
  const auto ranks = static_cast<std::uint32_t>(counts.size());
  job.send_blocks.resize(ranks);
  job.receive_blocks.resize(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::uint64_t given = counts[rank];
    if (collective == spec::Collective::scatter || collective == spec::Collective::reduce_scatter) {
      given = 0;
      if (rank == root || collective == spec::Collective::reduce_scatter)
        job.send_blocks[rank] = lay_out(counts, random);
      for (const Block& block : job.send_blocks[rank]) given = std::max(given, block.first + block.count);
    } else if (collective == spec::Collective::allgather || rank == root) {
      job.receive_blocks[rank] = lay_out(counts, random);
    }
    job.send.push_back(random_block(type, given, rank, random));
  }
  return with_buffers(std::move(job));
}

/// Checks that all ranks have completed with the right bits.
inline void verify(const Job& job, const Order& order) {
  for (std::uint32_t rank = 0; rank < job.send.size(); ++rank) {
    SCOPED_TRACE(::testing::Message() << spec::name(job.collective) << ' ' << spec::name(job.algorithm) << ' '
                                      << spec::name(job.op) << ' ' << spec::name(job.type) << " ranks "
                                      << job.send.size() << " root " << job.root << " count " << job.count << " rank "
                                      << rank);
    ASSERT_GE(job.done[rank], 0) << "never completed";
    Bytes want = expected(job, rank, order);
    want.push_back(std::byte{0x5A});
    ASSERT_EQ(job.receive[rank].size(), want.size());
    const auto differs = std::ranges::mismatch(job.receive[rank], want).in1 - job.receive[rank].begin();
    ASSERT_EQ(differs, std::ssize(want)) << "first different byte";
  }
}

inline void verify(const Job& job) {
  verify(job, Order::by_rank(static_cast<std::uint32_t>(job.send.size())));
}

}  // namespace thalweg::mpi_fpga::test
