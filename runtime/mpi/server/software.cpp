// SPDX-License-Identifier: Apache-2.0
#include "mpi/server/software.hpp"

#include <algorithm>
#include <bit>

namespace thalweg::mpi {
namespace {

/// Maximum block size and minimum ranks for MPICH's use of Bruck's algorithm (MPIR_CVAR_ALLTOALL_SHORT_MSG_SIZE).
constexpr std::uint64_t kBruckBytes = 256;
constexpr std::uint32_t kBruckRanks = 8;

/// Binomial tree away from the root. In each round, ranks relative to the root at multiples of 2 * half send to their
/// partner `half` above: one block for each rank of the partner's subtree if `block_per_rank`, otherwise one block.
Rounds binomial(const SoftwareCall& call, bool block_per_rank) {
  const std::uint32_t n = call.ranks;
  const auto absolute = [&](std::uint32_t relative) { return (relative + call.root) % n; };
  Rounds rounds;
  for (std::uint32_t half = std::bit_ceil(n) / 2; half > 0; half /= 2) {
    auto& round = rounds.emplace_back();
    for (std::uint32_t from = 0; from + half < n; from += 2 * half) {
      const std::uint32_t to = from + half;
      const std::uint64_t blocks = block_per_rank ? std::min(half, n - to) : 1;
      round.push_back({absolute(from), absolute(to), call.bytes * blocks});
    }
  }
  return rounds;
}

Rounds reversed(Rounds rounds) {
  std::ranges::reverse(rounds);
  for (auto& round : rounds)
    for (Transfer& transfer : round) std::swap(transfer.source, transfer.destination);
  return rounds;
}

/// In round k each rank sends to the rank 2^k above it, modulo the number of ranks if `wrap`.
Rounds doubling_distance(const SoftwareCall& call, bool wrap) {
  Rounds rounds;
  for (std::uint32_t distance = 1; distance < call.ranks; distance *= 2) {
    auto& round = rounds.emplace_back();
    for (std::uint32_t rank = 0; rank < call.ranks; ++rank)
      if (wrap || rank + distance < call.ranks) round.push_back({rank, (rank + distance) % call.ranks, call.bytes});
  }
  return rounds;
}

/// Recursive doubling. Ranks beyond the power of two first send their data to a partner, and finally receive the result.
Rounds exchange(const SoftwareCall& call, bool growing) {
  const std::uint32_t power = std::bit_floor(call.ranks), rest = call.ranks - power;
  Rounds rounds;
  std::vector<Transfer> fold;
  for (std::uint32_t rank = 0; rank < rest; ++rank) fold.push_back({power + rank, rank, call.bytes});
  if (rest) rounds.push_back(fold);
  for (std::uint32_t distance = 1; distance < power; distance *= 2) {
    auto& round = rounds.emplace_back();
    for (std::uint32_t rank = 0; rank < power; ++rank)
      round.push_back({rank, rank ^ distance, call.bytes * (growing ? distance : 1)});
  }
  if (rest) {
    for (Transfer& transfer : fold) std::swap(transfer.source, transfer.destination);
    rounds.push_back(fold);
  }
  return rounds;
}

Rounds pairwise(const SoftwareCall& call) {
  const std::uint32_t n = call.ranks;
  Rounds rounds(n - 1);
  for (std::uint32_t distance = 1; distance < n; ++distance)
    for (std::uint32_t rank = 0; rank < n; ++rank)
      rounds[distance - 1].push_back({rank, (rank + distance) % n, call.bytes});
  return rounds;
}

/// Bruck's algorithm: in round k each rank sends, to the rank 2^k above it, the blocks whose distance has bit k set.
Rounds bruck(const SoftwareCall& call) {
  Rounds rounds = doubling_distance(call, true);
  for (std::size_t k = 0; k < rounds.size(); ++k) {
    std::uint64_t blocks = 0;
    for (std::uint32_t way = 0; way < call.ranks; ++way) blocks += way >> k & 1;
    for (Transfer& transfer : rounds[k]) transfer.bytes = call.bytes * blocks;
  }
  return rounds;
}

/// In each of n-1 rounds every rank forwards the block received last to its neighbour; `bytes(owner)` is the block's size.
template <class Bytes>
Rounds ring(std::uint32_t n, Bytes bytes) {
  Rounds rounds(n - 1);
  for (std::uint32_t step = 0; step + 1 < n; ++step)
    for (std::uint32_t rank = 0; rank < n; ++rank)
      rounds[step].push_back({rank, (rank + 1) % n, bytes((rank + n - step) % n)});
  return rounds;
}

Rounds pairwise_lists(const SoftwareCall& call) {
  const std::uint32_t n = call.ranks;
  Rounds rounds(n - 1);
  for (std::uint32_t rank = 0; rank < n; ++rank)
    for (const ListEntry& entry : call.lists[rank])
      if (entry.bytes != 0 && entry.peer != rank)
        rounds[(entry.peer + n - rank - 1) % n].push_back({rank, static_cast<std::uint32_t>(entry.peer), entry.bytes});
  return rounds;
}

Rounds one_round_lists(const SoftwareCall& call) {
  Rounds rounds(1);
  for (std::uint32_t rank = 0; rank < call.ranks; ++rank)
    for (const ListEntry& entry : call.lists[rank])
      if (entry.peer != rank) rounds[0].push_back({rank, static_cast<std::uint32_t>(entry.peer), entry.bytes});
  return rounds;
}

}  // namespace

Rounds software_rounds(const SoftwareCall& call) {
  if (call.ranks < 2) return {};
  switch (call.pattern) {
    case Pattern::none:
      return {};
    case Pattern::barrier:
      return doubling_distance(call, true);
    case Pattern::broadcast:
      return binomial(call, false);
    case Pattern::reduce:
      return reversed(binomial(call, false));
    case Pattern::allreduce:
      return exchange(call, false);
    case Pattern::gather:
      return reversed(binomial(call, true));
    case Pattern::scatter:
      return binomial(call, true);
    case Pattern::allgather:
      return std::has_single_bit(call.ranks) ? exchange(call, true)
                                             : ring(call.ranks, [&](std::uint32_t) { return call.bytes; });
    case Pattern::alltoall:
      return call.bytes <= kBruckBytes && call.ranks >= kBruckRanks ? bruck(call) : pairwise(call);
    case Pattern::reduce_scatter:
      return pairwise(call);
    case Pattern::scan:
      return doubling_distance(call, false);
    case Pattern::allgather_list:
      return ring(call.ranks, [&](std::uint32_t owner) {
        return call.lists[owner].empty() ? std::uint64_t{0} : call.lists[owner].front().bytes;
      });
    case Pattern::alltoall_list:
      return pairwise_lists(call);
    case Pattern::gather_list:
    case Pattern::scatter_list:
    case Pattern::neighbours:
      return one_round_lists(call);
  }
  return {};
}

}  // namespace thalweg::mpi
