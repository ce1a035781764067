// SPDX-License-Identifier: Apache-2.0
#include "mpi/server/node_collective.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <ranges>
#include <utility>

namespace thalweg::mpi {
namespace {

using spec::Collective;

/// True if the data consist of one block per rank.
bool moves_blocks(Collective collective) {
  return collective == Collective::gather || collective == Collective::allgather || collective == Collective::scatter ||
         collective == Collective::reduce_scatter || collective == Collective::alltoall;
}

bool is_scan(Collective collective) {
  return collective == Collective::scan || collective == Collective::exscan;
}

void append(std::vector<std::byte>& to, std::span<const std::byte> piece) {
  to.insert(to.end(), piece.begin(), piece.end());
}

std::size_t size_of(const CollectiveRequest& part) {
  return spec::size_of(part.type);
}
template <class Byte>
std::span<Byte> piece(const CollectiveRequest& part, std::span<Byte> buffer, Block block) {
  return buffer.subspan(block.first * size_of(part), block.count * size_of(part));
}

/// Contiguous blocks with the given numbers of elements.
std::vector<Block> following(const std::vector<std::uint64_t>& counts) {
  std::vector<Block> blocks;
  std::uint64_t first = 0;
  for (const std::uint64_t count : counts) blocks.push_back({std::exchange(first, first + count), count});
  return blocks;
}

}  // namespace

std::optional<Collective> NodeCollective::of_nodes(Collective collective, const RankMap& rank_map) {
  if (!is_scan(collective) || !rank_map.shared()) return collective;
  return rank_map.in_order() ? std::optional(Collective::exscan) : std::nullopt;
}

NodeCollective::NodeCollective(const RankMap& rank_map, std::vector<Tick>& free, Setting setting)
    : rank_map_(rank_map),
      free_(free),
      setting_(std::move(setting)),
      parts_(rank_map.ranks()),
      entries_(rank_map.ranks()),
      hosts_(rank_map.hosts().size()) {}

std::optional<std::string> NodeCollective::enter(const CollectiveRequest& part, Tick at) {
  parts_[part.rank].emplace(part);
  entries_[part.rank] = at;
  for (std::uint32_t other = 0; part.vector && other < rank_map_.ranks(); ++other) {
    if (!parts_[other]) continue;
    for (const auto& [from, to] : {std::pair{part.rank, other}, std::pair{other, part.rank}})
      if (const auto has = given(from, to), takes = expected(from, to); has != takes)
        return "rank " + std::to_string(from) + " has " + std::to_string(*has) +
               (part.type == spec::Datatype::byte ? " bytes" : " elements") + " for rank " + std::to_string(to) +
               ", which takes " + std::to_string(*takes);
  }
  const std::uint32_t host = rank_map_.host_of(part.rank);
  if (++hosts_[host].entered == rank_map_.ranks_on(host).size()) take_in(host);
  return std::nullopt;
}

/// For a v-form: number of elements that `source` sends to `destination`; nullopt if it sends no block.
std::optional<std::uint64_t> NodeCollective::given(std::uint32_t source, std::uint32_t destination) const {
  const CollectiveRequest& part = *parts_[source];
  switch (part.collective) {
    case Collective::gather:
      return destination == part.root ? std::optional(part.count) : std::nullopt;
    case Collective::scatter:
      return source == part.root ? std::optional(part.send_blocks[destination].count) : std::nullopt;
    case Collective::allgather:
      return part.count;
    default:
      return part.send_blocks[destination].count;
  }
}

/// Number of elements that `destination` expects from `source`.
std::optional<std::uint64_t> NodeCollective::expected(std::uint32_t source, std::uint32_t destination) const {
  const CollectiveRequest& part = *parts_[destination];
  switch (part.collective) {
    case Collective::gather:
      return destination == part.root ? std::optional(part.receive_blocks[source].count) : std::nullopt;
    case Collective::scatter:
      return source == part.root ? std::optional(part.count) : std::nullopt;
    case Collective::reduce_scatter:
      return part.count;
    default:
      return part.receive_blocks[source].count;
  }
}

/// Called when all ranks of a host have entered.
void NodeCollective::take_in(std::uint32_t host) {
  const auto& ranks = rank_map_.ranks_on(host);
  Tick at = std::max(free_[host], entries_[ranks.front()]);
  for (const std::uint32_t rank : ranks | std::views::drop(1)) {
    const CollectiveRequest& part = *parts_[rank];
    at = std::max(at, entries_[rank]);
    if (!part.send.empty() || part.collective == Collective::barrier)
      at += setting_.timeline.memory().ticks(part.send.size());
    if (part.receive.empty() && part.collective != Collective::barrier) finish(rank, at);
  }
  free_[host] = at;
  last_in_ = std::max(last_in_, at);
  collect(host);
  if (hosts_.size() == 1) {
    hosts_[host].receive = std::move(hosts_[host].send);
    setting_.timeline.at(at, [self = shared_from_this(), host, at] { self->hand_out(host, at); });
    return;
  }
  const CollectiveRequest part = part_of(host);
  std::uint64_t largest = part.vector ? 0 : part.count;
  for (const auto* blocks : {&hosts_[host].send_blocks, &hosts_[host].receive_blocks})
    for (const Block& block : *blocks) largest = std::max(largest, block.count);
  setting_.submit(part, largest * size_of(part), at,
                  [self = shared_from_this(), host](Tick when) { self->hand_out(host, when); });
}

void NodeCollective::finish(std::uint32_t rank, Tick at) {
  setting_.timeline.at(at, [self = shared_from_this(), rank, at] { self->setting_.done(rank, at); });
}

void NodeCollective::hand_out(std::uint32_t host, Tick at) {
  last_out_ = std::max(last_out_, at);
  distribute(host);
  const auto& ranks = rank_map_.ranks_on(host);
  finish(ranks.front(), at);
  for (const std::uint32_t rank : ranks | std::views::drop(1)) {
    const CollectiveRequest& part = *parts_[rank];
    if (!part.receive.empty() || part.collective == Collective::barrier)
      finish(rank, at + setting_.timeline.memory().ticks(part.receive.size()));
  }
}

/// The combined data of a host's ranks; `each` is called with the partial result after each rank.
template <class Each>
std::vector<std::byte> NodeCollective::combined(std::uint32_t host, Each each) const {
  std::vector<std::byte> result;
  for (const std::uint32_t rank : rank_map_.ranks_on(host)) {
    const StoredRequest& part = *parts_[rank];
    if (rank == rank_map_.parent(host))
      append(result, part.send);
    else
      setting_.combine(result.data(), part.send.data(), result.size() / size_of(part));
    each(result);
  }
  return result;
}

/// Calls `piece` for every rank, host by host, which is the order of blocks in the network.
template <class Piece>
void NodeCollective::each_rank_in_network_order(Piece piece) const {
  for (std::uint32_t host = 0; host < hosts_.size(); ++host)
    for (const std::uint32_t rank : rank_map_.ranks_on(host)) piece(rank);
}

/// Assembles the send buffer of a host's part from its ranks' data.
void NodeCollective::collect(std::uint32_t host) {
  const auto& ranks = rank_map_.ranks_on(host);
  const CollectiveRequest& part = any_part(host);
  std::vector<std::byte>& send = hosts_[host].send;
  const auto nothing = [](const std::vector<std::byte>&) {};
  switch (part.collective) {
    case Collective::reduce:
    case Collective::allreduce:
      send = combined(host, nothing);
      break;
    case Collective::reduce_scatter: {
      const std::vector<std::byte> sum = combined(host, nothing);
      each_rank_in_network_order([&](std::uint32_t rank) {
        append(send, piece(part, std::span<const std::byte>(sum), part.send_block(rank)));
      });
      break;
    }
    case Collective::broadcast:
    case Collective::gather:
    case Collective::allgather:
      for (const std::uint32_t rank : ranks) append(send, parts_[rank]->send);
      break;
    case Collective::scatter:
      if (rank_map_.host_of(part.root) == host)
        each_rank_in_network_order([&](std::uint32_t rank) {
          append(send, piece(part, parts_[part.root]->send, parts_[part.root]->send_block(rank)));
        });
      break;
    case Collective::alltoall:
      for (std::uint32_t other = 0; other < hosts_.size(); ++other)
        for (const std::uint32_t source : ranks)
          for (const std::uint32_t destination : rank_map_.ranks_on(other))
            append(send, piece(part, parts_[source]->send, parts_[source]->send_block(destination)));
      break;
    case Collective::scan:
    case Collective::exscan:
      send = combined(host, [&](const auto& prefix) { hosts_[host].prefixes.push_back(prefix); });
      break;
    default:
      break;
  }
}

/// The parent's part in the network, whose members are the hosts.
CollectiveRequest NodeCollective::part_of(std::uint32_t host) {
  const auto& ranks = rank_map_.ranks_on(host);
  CollectiveRequest part = any_part(host);
  Host& here = hosts_[host];
  const bool at_root = rank_map_.host_of(part.root) == host;
  part.collective = *of_nodes(part.collective, rank_map_);
  part.rank = host;
  part.root = rank_map_.host_of(part.root);
  const auto sum = [&](std::uint32_t other, auto elements) {
    const auto& on = rank_map_.ranks_on(other);
    return std::transform_reduce(on.begin(), on.end(), std::uint64_t{0}, std::plus<>{}, elements);
  };
  const auto for_each_host = [&](auto elements) {
    std::vector<std::uint64_t> counts;
    for (std::uint32_t other = 0; other < hosts_.size(); ++other) counts.push_back(sum(other, elements));
    return following(counts);
  };
  const auto all_of = [&](const auto& blocks) {
    return blocks.empty() ? 0 : blocks.back().first + blocks.back().count;
  };

  std::uint64_t received = 0;
  if (moves_blocks(part.collective)) {
    part.vector = part.vector || !rank_map_.even();
    const bool alltoall = part.collective == Collective::alltoall;
    const CollectiveRequest& lists = at_root ? *parts_[any_part(host).root] : any_part(host);
    const auto sent_to = [&](std::uint32_t rank) {
      if (!alltoall) return lists.send_block(rank).count;
      return sum(host, [&](std::uint32_t source) { return parts_[source]->send_block(rank).count; });
    };
    const auto received_from = [&](std::uint32_t rank) {
      if (!alltoall) return lists.receive_block(rank).count;
      return sum(host, [&](std::uint32_t destination) { return parts_[destination]->receive_block(rank).count; });
    };
    const bool sends_blocks = alltoall || part.collective == Collective::reduce_scatter ||
                              (part.collective == Collective::scatter && at_root);
    const bool receives_blocks =
        alltoall || part.collective == Collective::allgather || (part.collective == Collective::gather && at_root);
    if (sends_blocks) here.send_blocks = for_each_host(sent_to);
    if (receives_blocks) here.receive_blocks = for_each_host(received_from);
    const bool one_block = part.collective == Collective::scatter || part.collective == Collective::reduce_scatter;
    const std::uint64_t own = sum(host, [&](std::uint32_t rank) { return parts_[rank]->count; });
    received = one_block ? own : all_of(here.receive_blocks);
    part.count = alltoall ? own * ranks.size() : own;
    if (!part.vector) {
      here.send_blocks.clear();
      here.receive_blocks.clear();
    }
  } else if (part.collective == Collective::allreduce || (part.collective == Collective::reduce && at_root) ||
             (part.collective == Collective::broadcast && !at_root) ||
             (part.collective == Collective::exscan && host != 0)) {
    received = part.count;
  }
  here.receive.resize(received * size_of(part));
  part.send = here.send;
  part.receive = here.receive;
  part.send_blocks = here.send_blocks;
  part.receive_blocks = here.receive_blocks;
  return part;
}

/// Combines the result of the preceding hosts with each rank's prefix on this host.
void NodeCollective::distribute_prefixes(std::uint32_t host) {
  const bool inclusive = any_part(host).collective == Collective::scan;
  const auto& before = hosts_[host].receive;
  const auto& prefixes = hosts_[host].prefixes;
  const auto& ranks = rank_map_.ranks_on(host);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const StoredRequest& part = *parts_[ranks[i]];
    if (part.receive.empty()) continue;
    std::vector<std::byte> result = host == 0 ? std::vector<std::byte>{} : before;
    if (inclusive || i != 0) {
      const auto& own = prefixes[inclusive ? i : i - 1];
      if (result.empty())
        result = own;
      else
        setting_.combine(result.data(), own.data(), result.size() / size_of(part));
    }
    std::ranges::copy(result, part.receive.begin());
  }
}

/// Copies a host's result to its ranks.
void NodeCollective::distribute(std::uint32_t host) {
  const CollectiveRequest& any = any_part(host);
  // In a broadcast, the root's host receives nothing; it distributes the data that it sends.
  const bool sent = any.collective == Collective::broadcast && hosts_[host].receive.empty();
  std::span<const std::byte> rest = sent ? hosts_[host].send : hosts_[host].receive;
  const auto next = [&](std::span<std::byte> to) {
    std::ranges::copy(rest.first(to.size()), to.begin());
    rest = rest.subspan(to.size());
  };
  const auto& ranks = rank_map_.ranks_on(host);
  switch (any.collective) {
    case Collective::scatter:
    case Collective::reduce_scatter:
      for (const std::uint32_t rank : ranks) next(parts_[rank]->receive);
      break;
    case Collective::alltoall:
      each_rank_in_network_order([&](std::uint32_t source) {
        for (const std::uint32_t rank : ranks)
          next(piece(any, parts_[rank]->receive, parts_[rank]->receive_block(source)));
      });
      break;
    case Collective::gather:
    case Collective::allgather: {
      const auto all = rest;
      for (const std::uint32_t rank : ranks) {
        if (parts_[rank]->receive.empty()) continue;
        rest = all;
        each_rank_in_network_order([&](std::uint32_t source) {
          next(piece(any, parts_[rank]->receive, parts_[rank]->receive_block(source)));
        });
      }
      break;
    }
    case Collective::scan:
    case Collective::exscan:
      return distribute_prefixes(host);
    default:
      for (const std::uint32_t rank : ranks)
        std::ranges::copy(rest.first(parts_[rank]->receive.size()), parts_[rank]->receive.begin());
  }
}

}  // namespace thalweg::mpi
