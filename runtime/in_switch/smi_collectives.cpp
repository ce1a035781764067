// SPDX-License-Identifier: Apache-2.0
#include "in_switch/smi_collectives.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "core/require.hpp"
#include "core/stream.hpp"
#include "reduce/lane.hpp"

namespace thalweg::in_switch {

using mpi_fpga::Block;
using mpi_fpga::ContextId;
using smi::Element;
using smi::EndpointKind;
using smi::Open;

/// A rank's part of an operation, which moves some elements of a channel.
struct SmiCollectives::Tile {
  Handle handle = 0;
  std::vector<std::byte> send, receive;
  std::vector<Block> blocks;  ///< at the root of scatter and gather: one rank's block; the others are empty
};

/// Next elements for the kernel: the results of a tile, its own elements, or the pairwise combination of both.
struct SmiCollectives::Work {
  std::shared_ptr<Tile> tile;
  std::uint32_t elements = 0;
  bool own = false;
  Open channel;
};

namespace {

template <class T>
std::uint64_t bits(T value) {
  std::uint64_t data = 0;
  std::memcpy(&data, &value, sizeof value);
  return data;
}

template <class T>
std::uint64_t neutral(spec::Operator op) {
  using Limits = std::numeric_limits<T>;
  if (op == spec::Operator::sum) return bits(static_cast<T>(-T{0}));  // +0 would turn a sum of -0 into +0
  if (op == spec::Operator::min) return bits(Limits::has_infinity ? Limits::infinity() : Limits::max());
  return bits(Limits::has_infinity ? static_cast<T>(-Limits::infinity()) : Limits::lowest());
}

/// The neutral element of an operator.
std::uint64_t neutral(spec::Operator op, spec::Datatype type) {
  switch (type) {
    case spec::Datatype::float32:
      return neutral<float>(op);
    case spec::Datatype::float64:
      return neutral<double>(op);
    case spec::Datatype::int8:
      return neutral<std::int8_t>(op);
    case spec::Datatype::int16:
      return neutral<std::int16_t>(op);
    default:
      return neutral<std::int32_t>(op);
  }
}

std::uint64_t element(const std::vector<std::byte>& from, std::uint32_t i, unsigned size) {
  std::uint64_t data = 0;
  std::memcpy(&data, from.data() + (std::size_t{i} << size), std::size_t{1} << size);
  return data;
}

void store_element(std::vector<std::byte>& to, std::uint32_t i, unsigned size, std::uint64_t data) {
  std::memcpy(to.data() + (std::size_t{i} << size), &data, std::size_t{1} << size);
}

/// Calls `visit` with the number of elements of each tile of a message.
template <class Visit>
void each_tile(std::uint32_t count, std::uint32_t max_elements, Visit&& visit) {
  for (std::uint32_t done = 0; done < count; done += std::min(max_elements, count - done))
    visit(std::min(max_elements, count - done));
}

}  // namespace

/// A port. One kernel reads its elements and starts operations; another waits for their completion and writes the results.
struct SmiCollectives::Adapter {
  Adapter(const smi::EndpointOf& what, unsigned of, const std::string& name, std::size_t at_once)
      : endpoint(what),
        rank(of),
        open(name),
        in(name),
        out(name),
        operations(name + ", operations", at_once),
        own(name + ", its own elements"),
        completions(name + ", completions", at_once + 2) {}

  /// Reads `count` elements of the kernel.
  [[nodiscard]] std::vector<std::byte> collect(std::uint32_t count, unsigned size) {
    std::vector<std::byte> elements(std::size_t{count} << size);
    for (std::uint32_t i = 0; i < count; ++i) store_element(elements, i, size, in.pop().data);
    return elements;
  }
  /// Passes the kernel's next elements back to itself.
  void forward(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) own.push(in.pop());
  }

  smi::EndpointOf endpoint;
  unsigned rank;
  Stream<Open> open;
  Stream<Element> in, out;
  Stream<Work> operations;     ///< from the first kernel to the second
  Stream<Element> own;         ///< the same
  Stream<Handle> completions;  ///< deep enough for all operations in flight
  std::deque<Handle> due;      ///< to be pushed to `completions`, one per cycle
  Open channel;                ///< the last one
  std::optional<ContextId> context;
};

SmiCollectives::SmiCollectives(Domains& time, Domain& clock, Domain& network, const mpi_fpga::FabricConfig& config,
                               Tick lane_latency, const std::vector<std::vector<smi::EndpointOf>>& endpoints)
    : lane_latency_(lane_latency), units_(network, config, endpoints.size()), kernels_(time) {
  units_.stepped = [this](Tick now) { return step(now); };
  for (unsigned rank = 0; rank < endpoints.size(); ++rank)
    for (const auto& endpoint : endpoints[rank]) {
      const std::string name = "port " + std::to_string(endpoint.port) + " of rank " + std::to_string(rank);
      auto& port = adapters_.emplace_back(endpoint, rank, name, units_.at_once());
      port.completions.writer.bind(name, network, units_.component());
      kernels_.add(name + ", to the switches", clock, [this, &port] { push_to_switches(port); }, {.serves = true});
      kernels_.add(name + ", from the switches", clock, [this, &port] { pop_from_switches(port); }, {.serves = true});
    }
}

SmiCollectives::~SmiCollectives() = default;

std::vector<smi::Program::Port> SmiCollectives::ports(unsigned rank) {
  std::vector<smi::Program::Port> found;
  for (auto& port : adapters_)
    if (port.rank == rank)
      found.push_back(
          {.endpoint = port.endpoint, .open = &port.open, .in = &port.in, .out = &port.out, .waits = [this, &port] {
             return waits(port);
           }});
  return found;
}

bool SmiCollectives::step(Tick now) {
  bool more = false;
  for (auto& port : adapters_) {
    if (port.due.empty()) continue;
    port.completions.push_at(units_.clock().clock.edge(now), port.due.front());
    port.due.pop_front();
    more |= !port.due.empty();
  }
  return more;
}

Tick SmiCollectives::next_cycle() {
  auto& kernel = Kernel::current();
  kernel.synchronize();
  return units_.clock().clock.cycle_after(kernel.tick());
}

ContextId SmiCollectives::communicator(const Adapter& port, const Open& open) {
  // Operations on a communicator are ordered, but those of different ports are not: each port has its own communicators.
  const auto at = next_cycle();
  const auto [found, is_new] = communicators_.try_emplace(
      {port.endpoint.kind, port.endpoint.port, open.first, open.stride, open.ranks}, ContextId{0});
  if (!is_new) return found->second;
  std::vector<NodeId> members;
  for (unsigned member = 0; member < open.ranks; ++member) members.push_back(open.rank(member));
  const auto made = units_.create(members, at);
  require(made.has_value(), "port " + std::to_string(port.endpoint.port) + " of rank " + std::to_string(port.rank) +
                                ": the switches' communicator table has no free row for a communicator of " +
                                std::to_string(open.ranks) + " ranks; each port has communicators of its own");
  return found->second = *made;
}

std::uint32_t SmiCollectives::elements_per_packet(const Open& open) const {
  return units_.elements_per_packet(std::size_t{1} << open.size);
}

void SmiCollectives::submit(Adapter& port, const Open& open, std::shared_ptr<Tile> tile, std::uint32_t count) {
  const auto received = static_cast<std::uint32_t>(tile->receive.size() >> open.size);
  tile->handle = units_.expect([&port](const Completion& completion) { port.due.push_back(completion.handle); });
  mpi_fpga::CollectiveRequest request{{.op = open.op, .type = open.type, .root = open.root, .count = count},
                                      tile->handle,
                                      *port.context,
                                      open.own,
                                      tile->send,
                                      tile->receive};
  bool own = false;
  switch (port.endpoint.kind) {
    case EndpointKind::broadcast:
      request.collective = mpi_fpga::spec::Collective::broadcast;
      break;
    case EndpointKind::reduce:
      request.collective = mpi_fpga::spec::Collective::reduce;
      own = open.own == open.root;
      break;
    case EndpointKind::scatter:
      request.collective = mpi_fpga::spec::Collective::scatter;
      request.vector = true;
      request.send_blocks = tile->blocks;
      break;
    default:
      request.collective = mpi_fpga::spec::Collective::gather;
      request.vector = true;
      request.receive_blocks = tile->blocks;
      break;
  }
  port.operations.push({.tile = std::move(tile), .elements = received, .own = own, .channel = open});
  units_.submit(request, next_cycle());
}

void SmiCollectives::push_to_switches(Adapter& port) {
  for (;;) {
    const Open open = port.open.pop();
    port.channel = open;
    port.context.reset();
    if (open.ranks > 1) port.context = communicator(port, open);
    switch (port.endpoint.kind) {
      case EndpointKind::broadcast:
        broadcast(port, open);
        break;
      case EndpointKind::reduce:
        reduce(port, open);
        break;
      default:
        parts(port, open);
        break;
    }
  }
}

void SmiCollectives::pop_from_switches(Adapter& port) {
  std::set<Handle> completions;
  for (;;) {
    const auto work = port.operations.pop();
    const Open& open = work.channel;
    if (work.tile)
      while (completions.erase(work.tile->handle) == 0) completions.insert(port.completions.pop());
    for (std::uint32_t i = 0; i < work.elements; ++i) {
      std::uint64_t data = work.own ? port.own.pop().data : element(work.tile->receive, i, open.size);
      if (work.own && work.tile) {
        const auto others = element(work.tile->receive, i, open.size);
        Kernel::current().pause(lane_latency_);
        lane(open.op, open.type)(reinterpret_cast<std::byte*>(&data), reinterpret_cast<const std::byte*>(&others), 1);
      }
      port.out.push({.data = data});
    }
  }
}

void SmiCollectives::broadcast(Adapter& port, const Open& open) {
  const bool root = open.own == open.root;
  each_tile(open.count, elements_per_packet(open), [&](std::uint32_t n) {
    auto tile = std::make_shared<Tile>();
    if (root)
      tile->send = port.collect(n, open.size);
    else
      tile->receive.resize(std::size_t{n} << open.size);
    if (port.context) submit(port, open, std::move(tile), n);
  });
}

/// A root's kernel writes an element only after it has read the previous result. So the switches combine the other ranks' elements, in
/// tiles of the channel's grant, and a lane in the adapter combines the root's own element last.
void SmiCollectives::reduce(Adapter& port, const Open& open) {
  const auto max_elements = std::min(open.tile, elements_per_packet(open));
  if (open.own != open.root) {
    each_tile(open.count, max_elements, [&](std::uint32_t n) {
      auto tile = std::make_shared<Tile>();
      tile->send = port.collect(n, open.size);
      submit(port, open, std::move(tile), n);
    });
    return;
  }
  if (!port.context) {
    port.operations.push({.tile = nullptr, .elements = open.count, .own = true, .channel = open});
    return port.forward(open.count);
  }
  std::uint64_t started = 0, completed = 0;
  each_tile(open.count, max_elements, [&](std::uint32_t n) {
    for (; started < open.count && started < completed + std::uint64_t{units_.at_once()} * max_elements;
         started += max_elements) {
      const auto elements = static_cast<std::uint32_t>(std::min<std::uint64_t>(max_elements, open.count - started));
      auto tile = std::make_shared<Tile>();
      tile->send.resize(std::size_t{elements} << open.size);
      for (std::uint32_t i = 0; i < elements; ++i) store_element(tile->send, i, open.size, neutral(open.op, open.type));
      tile->receive.resize(tile->send.size());
      submit(port, open, std::move(tile), elements);
    }
    port.forward(n);
    completed += n;
  });
}

/// Scatter and gather, rank by rank: an operation moves one rank's elements, and the other ranks' blocks are empty. The root's own part
/// does not enter the network.
void SmiCollectives::parts(Adapter& port, const Open& open) {
  const bool scatters = port.endpoint.kind == EndpointKind::scatter, root = open.own == open.root;
  for (unsigned member = 0; member < open.ranks; ++member) {
    if (member == open.root) {
      if (!root) continue;
      port.operations.push({.tile = nullptr, .elements = open.count, .own = true, .channel = open});
      port.forward(open.count);
      continue;
    }
    const bool sends = open.own == (scatters ? open.root : member),
               receives = open.own == (scatters ? member : open.root);
    each_tile(open.count, elements_per_packet(open), [&](std::uint32_t n) {
      auto tile = std::make_shared<Tile>();
      if (sends) tile->send = port.collect(n, open.size);
      if (receives) tile->receive.resize(std::size_t{n} << open.size);
      if (root) {
        tile->blocks.resize(open.ranks);
        tile->blocks[member] = {0, n};
      }
      submit(port, open, std::move(tile), open.own == member ? n : 0);
    });
  }
}

std::string SmiCollectives::waits(const Adapter& port) const {
  if (!port.context) return "";
  const auto waiting = units_.waits(*port.context, port.channel.own);
  if (!waiting) return "";
  return "rank " + std::to_string(port.channel.rank(waiting->peer)) + " in the switches: " + waiting->what;
}

}  // namespace thalweg::in_switch
