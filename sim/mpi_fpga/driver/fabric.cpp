// SPDX-License-Identifier: Apache-2.0
#include "mpi_fpga/driver/fabric.hpp"

#include <malloc.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "core/require.hpp"
#include "mpi_fpga/user_operators.hpp"
#include "network/network.hpp"

namespace thalweg::mpi_fpga {
namespace {

constexpr unsigned kLarge = 1024;  ///< nodes

const FabricConfig& checked(const FabricConfig& config) {
  check_network(config);
  const CollectiveConfig& collective = config.collective;
  require(config.router.local_ports >= 2 && config.router.local_ports <= 33,
          "a node with a collective unit has 2 to 33 local ports");
  require(collective.contexts >= 1 && collective.contexts <= 32, "the communicator table has 1 to 32 rows");
  require(collective.operations_in_flight >= 1 && collective.operations_in_flight <= 4,
          "a communicator has 1 to 4 operations in flight");
  require(collective.aggregation_units >= 1 && collective.aggregation_units <= 32,
          "a node has 1 to 32 aggregation units");
  require(std::has_single_bit(collective.packet_flits) && collective.packet_flits <= kMaxPacketFlits,
          "a packet has 1, 2, 4, 8, 16, 32 or 64 flits at most");
  require(collective.slot_packets >= 1 && collective.slot_packets <= 65535 / collective.packet_flits,
          "a slot holds at least one packet and at most 65535 flits");
  require(std::has_single_bit(collective.long_packet_flits) &&
              collective.long_packet_flits >= collective.packet_flits &&
              collective.long_packet_flits <= kMaxPacketFlits &&
              collective.long_packet_flits <= collective.slot_packets * collective.packet_flits,
          "a long packet has a power of two of flits, from packet_flits to 64, and fits into a slot");
  require(collective.relay_flits >= 2 * collective.long_packet_flits,
          "relay_flits must hold two packets of an all-to-all: one, and freed room that has not been announced");
  require(config.host.dma_flits_per_cycle >= 1, "the DMA moves at least one flit a cycle");
  for (const std::uint32_t mask : config.router.vc_mask.back())
    require(std::has_single_bit(mask),
            "collective packets need exactly one virtual channel per route class: they may not overtake each other");
  return config;
}

/// The request with its unused fields reset to defaults.
CollectiveRequest normal(CollectiveRequest request) {
  if (!rooted(request.collective)) request.root = 0;
  if (!reduces(request.collective)) request.op = spec::Operator::none;
  if (!has_vector(request.collective)) request.vector = false;
  if (request.collective == spec::Collective::barrier) {
    request.count = 0;
    request.type = spec::Datatype::byte;
  }
  return request;
}

template <class Communicator, class Visit>
void each_part(const Communicator& communicator, Visit&& visit) {
  visit(communicator.main);
  std::ranges::for_each(communicator.trees, visit);
  std::ranges::for_each(communicator.rings, visit);
}

}  // namespace

Fabric::Fabric(FabricConfig config, Endpoint endpoint, Scheduler* scheduler)
    : config_(checked(config)),
      graph_(config_),
      endpoint_(endpoint),
      own_scheduler_(scheduler ? nullptr : make_scheduler(config_, endpoint)),
      scheduler_(scheduler ? scheduler : own_scheduler_.get()),
      messages_(scheduler_->partitions()),
      ended_(scheduler_->partitions()),
      crossings_(scheduler_->partitions()),
      rows_(config_.nodes, config_.collective.contexts),
      flits_before_(std::size_t{config_.nodes} * config_.router.link_ports),
      unrouted_before_(config_.nodes) {
  if (own_scheduler_ && config_.faults.reroute) journal_.emplace();
  build();
}

/// Returns a large fabric's memory to the system: the next one may be built by another thread, which would not reuse it.
Fabric::~Fabric() {
  nodes_.clear();
  communicators_.clear();
  if (config_.nodes >= kLarge) malloc_trim(0);
}

void Fabric::build() {
  std::vector<VcRouter*> routers;
  for (NodeId node = 0; node < config_.nodes; ++node) {
    const auto partition = static_cast<unsigned>(std::uint64_t{node} * scheduler_->partitions() / config_.nodes);
    nodes_.push_back(
        std::make_unique<Node>(config_, graph_, node, endpoint_, messages_, *scheduler_, partition, ended_[partition]));
    routers.push_back(&nodes_.back()->router());
  }
  links_ = connect_links(config_, routers, *scheduler_, crossings_);
  if (own_scheduler_ && crossings_.size() > 1) scheduler_->after_windows([this] { deliver(); });
}

void Fabric::deliver() {
  std::ranges::for_each(crossings_, &Crossing::deliver);
}

std::unique_ptr<Scheduler> Fabric::make_scheduler(const FabricConfig& config, Endpoint endpoint, Tick start) {
  const SimulationConfig& simulation = config.simulation;
  require(simulation.threads >= 1 && simulation.threads <= std::min<std::size_t>(64, config.nodes),
          "a simulation has 1 to 64 threads, and not more than nodes");
  const bool faults = std::ranges::any_of(config.links, &LinkConfig::faulty);
  require(simulation.threads == 1 || !(faults || config.router.library || config.collective.library),
          "a simulation with faults of links, or with RTL, has one thread");
  auto scheduler = std::make_unique<Scheduler>(horizon(config), start, simulation.threads);
  if (simulation.windows && endpoint == Endpoint::host)
    scheduler->set_window(std::min(window(config), config.host.pcie_latency));
  return scheduler;
}

// ------------------------------------------------------------------------------------------------- Communicators

const Fabric::Communicator& Fabric::communicator(ContextId context) const {
  require(context < communicators_.size() && communicators_[context], "no communicator ", context);
  return *communicators_[context];
}

Fabric::Communicator& Fabric::communicator(ContextId context) {
  return const_cast<Communicator&>(std::as_const(*this).communicator(context));
}

const Group& Fabric::group(ContextId context) const {
  return communicator(context).main.group;
}

std::vector<Group> Fabric::parts(ContextId context, spec::Algorithm algorithm) const {
  std::vector<Group> groups;
  for (const Part& part : communicator(context).parts(algorithm)) groups.push_back(part.group);
  return groups;
}

std::optional<ContextId> Fabric::create_communicator(std::span<const NodeId> members, std::span<const Handle> handles,
                                                     Tick at) {
  require(!members.empty() && members.size() <= (std::size_t{1} << kRankBits) - 1 && handles.size() == members.size(),
          "a communicator has 1 to 65535 members, and a handle for each");
  check_time(at);
  std::vector<bool> seen(config_.nodes);
  for (const NodeId node : members) {
    require(node < config_.nodes, "node ", node, " does not exist: there are ", config_.nodes);
    require(node < config_.nodes - config_.switches, "node ", node, " is a switch, which cannot have a rank");
    require(!seen[node], "two ranks of one communicator on node ", node);
    seen[node] = true;
  }
  std::optional<Group> group;
  std::uint32_t row = 0;
  for (const std::uint32_t each : rows_.free(members, 0)) {
    const auto available = [&](NodeId node) { return rows_.is_free(node, each); };
    row = each;
    if ((group = Group::make(config_, graph_, members, available, row))) break;
  }
  if (!group) return std::nullopt;

  Communicator created{.main = {std::move(*group), row},
                       .open = OpenOperations(static_cast<std::uint32_t>(members.size()))};
  for (const Group::Vertex& vertex : created.main.group.vertices()) rows_.take(vertex.node, row);
  if (config_.collective.trees == Trees::by_topology)
    created.trees = grant(Group::by_links(config_, graph_, members), members);
  created.rings = grant(Group::by_rings(config_, graph_, members), members);
  created.loading.assign(handles.begin(), handles.end());
  auto entry = std::ranges::find_if(communicators_, [](const auto& communicator) { return !communicator; });
  if (entry == communicators_.end()) entry = communicators_.insert(entry, std::nullopt);
  *entry = std::move(created);
  const auto context = static_cast<ContextId>(entry - communicators_.begin());
  load_rows(context, std::max(at, resumes_));
  return context;
}

void Fabric::load_rows(ContextId context, Tick at) {
  const Communicator& loaded = *communicators_[context];
  std::vector<Handle> handles;
  for (std::uint32_t rank = 0; rank < loaded.loading.size(); ++rank)
    handles.push_back(expect({.handle = loaded.loading[rank].value_or(0),
                              .parts = static_cast<unsigned>(1 + loaded.trees.size() + loaded.rings.size()),
                              .context = context,
                              .rank = rank,
                              .reported = !loaded.loading[rank]}));
  each_part(loaded, [&](const Part& part) { load_rows(part, handles, at); });
}

/// Allocates rows for as many groups as possible, at least two; half of every table stays free for other communicators.
std::vector<Fabric::Part> Fabric::grant(std::vector<Group> groups, std::span<const NodeId> members) {
  std::vector<Part> parts;
  for (Group& group : groups) {
    const std::vector<std::uint32_t> rows = rows_.free(members, config_.collective.contexts / 2);
    if (rows.empty()) break;
    for (const NodeId node : members) rows_.take(node, rows.front());
    parts.push_back({std::move(group), rows.front()});
  }
  if (parts.size() > 1) return parts;
  for (const Part& part : parts)
    for (const NodeId node : members) rows_.release(node, part.row);
  return {};
}

Abilities Fabric::abilities(const Communicator& communicator) const {
  return {.ranks = communicator.main.group.ranks(),
          .slot_packets = config_.collective.slot_packets,
          .doubles = communicator.main.group.doubles(),
          .trees = !communicator.trees.empty(),
          .rings = !communicator.rings.empty()};
}

std::uint32_t Fabric::algorithms(ContextId context, spec::Collective collective, bool vector) const {
  return thalweg::mpi_fpga::algorithms(collective, abilities(communicator(context)), vector);
}

/// Each host loads its own node's row. The row of a vertex without a rank is sent as a message by a host below it,
/// after those of the vertices in between.
void Fabric::load_rows(const Part& part, std::span<const Handle> handles, Tick at) {
  const auto& [group, row] = part;
  const auto vertices = group.vertices();
  for (std::uint32_t rank = 0; rank < group.ranks(); ++rank) {
    nodes_[vertices[rank].node]->load_row(row, vertices[rank].row, handles[rank], at);
    // Up the tree, until a rank with a smaller label is below: each vertex gets its row once.
    for (std::uint32_t v = rank; vertices[v].row.up;) {
      v = vertices[v].peer[static_cast<unsigned>(std::countr_zero(vertices[v].row.up))];
      if (vertices[v].row.has_rank() || vertices[v].row.label != group.label(rank)) break;
      const MessageRequest message{.handle = 0,
                                   .source = vertices[rank].node,
                                   .destination = vertices[v].node,
                                   .bytes = (vertices[v].row.bits() + 7) / 8};
      nodes_[message.source]->send(
          messages_.add(message, {row, nodes_[message.destination]->generation(row), vertices[v].row}), at);
    }
  }
}

void Fabric::free_communicator(ContextId context) {
  Communicator& freed = communicator(context);
  freed.freeing = true;
  if (journal_ && journal_->open(context)) return;
  const auto free = [&](const Part& part) {
    for (const Group::Vertex& vertex : part.group.vertices()) {
      nodes_[vertex.node]->free_row(part.row);
      rows_.release(vertex.node, part.row);
    }
  };
  each_part(freed, free);
  if (journal_) journal_->forget(context);
  communicators_[context].reset();
}

// ---------------------------------------------------------------------------------------------------- Operations

void Fabric::check_time(Tick at) const {
  require(at >= now() - lookahead(), "time ", at, " is in the past; the current time is ", now());
}

void Fabric::check(const Communicator& communicator, const CollectiveRequest& request) const {
  const std::uint32_t ranks = communicator.main.group.ranks();
  require(computes(request.context, request.collective), spec::name(request.collective),
          " is not computed in the network");
  require(request.rank < ranks && request.root < ranks, "rank ", request.rank, " or root ", request.root,
          " does not exist in a communicator of ", ranks, " ranks");
  const UserOperator* user = user_operator(config_.collective, request.op);
  require(!reduces(request.collective) || spec::supported(request.op, request.type) ||
              (user && user->bytes == spec::size_of(request.type)),
          "no ", spec::name(request.op), " of ", spec::name(request.type), " in the network");
  const auto check_buffer = [&](const char* name, std::size_t size, Holding holding, std::span<const Block> list) {
    std::uint64_t end = holding == Holding::block_per_rank ? ranks * request.count
                        : holding == Holding::block        ? request.count
                                                           : 0;
    if (request.vector && holding == Holding::block_per_rank) {
      require(list.size() == ranks, "a list of ", list.size(), ' ', name, " blocks for ", ranks, " ranks");
      end = 0;
      for (const Block& block : list)
        if (block.count > 0) end = std::max(end, block.first + block.count);
    }
    const std::uint64_t bytes = end * spec::size_of(request.type);
    require(size >= bytes, "a ", name, " buffer of ", size, " bytes for ", bytes);
  };
  const bool at_root = request.rank == request.root;
  check_buffer("send", request.send.size(), send_holding(request.collective, at_root), request.send_blocks);
  check_buffer("receive", request.receive.size(), receive_holding(request.collective, request.rank, at_root),
               request.receive_blocks);
}

void Fabric::submit(const CollectiveRequest& submitted, Tick at) {
  Communicator& entered = communicator(submitted.context);
  CollectiveRequest request = normal(submitted);
  check(entered, request);
  check_time(at);
  if (!entered.open.enter(request, at, mismatch_)) return;
  PendingOperation awaited{.handle = submitted.handle, .context = submitted.context, .rank = submitted.rank};
  if (journal_) awaited.operation = journal_->submit(request, entered.main.group.ranks());
  issue(request, awaited, std::max(at, resumes_));
}

void Fabric::issue(CollectiveRequest request, PendingOperation awaited, Tick at) {
  const Communicator& entered = communicator(request.context);
  request.algorithm = effective_algorithm(request, abilities(entered));
  const std::uint32_t root = request.root;
  const auto start = [&](const Part& part) {
    request.root = part.group.label(root);
    nodes_[part.group.vertices()[request.rank].node]->submit(part.row, request, part.group, at);
  };
  const std::span<const Part> parts = entered.parts(request.algorithm);
  if (parts.size() == 1) {
    awaited.parts = 1;
    request.handle = expect(awaited);
    return start(entered.main);
  }
  // Whole packets are distributed evenly; with fewer packets than trees, some trees are unused.
  const Packetizer layout(spec::size_of(request.type), config_.collective.packet_flits);
  const std::uint64_t packets = layout.packets(request.count);
  const auto trees = std::clamp<std::uint64_t>(packets, 1, parts.size());
  request.pieces = awaited.parts = static_cast<unsigned>(trees);
  request.handle = expect(awaited);
  for (std::uint64_t i = 0; i < trees; ++i) {
    const auto end = [&](std::uint64_t of) {
      return std::min(request.count, packets * of / trees * layout.elements_per_packet());
    };
    request.piece = Block{end(i), end(i + 1) - end(i)};
    start(parts[i]);
  }
}

/// A handle for nodes, which they complete once per part.
Handle Fabric::expect(const PendingOperation& awaited) {
  Handle own = awaited_.size();
  if (free_handles_.empty()) {
    awaited_.emplace_back();
  } else {
    own = free_handles_.back();
    free_handles_.pop_back();
  }
  awaited_[own] = awaited;
  return own;
}

void Fabric::take_completed(std::vector<Completion>& completed) {
  const auto take = [&](Ended& ended) {
    if (ended.kind == Ended::Kind::collective || ended.kind == Ended::Kind::row) {
      PendingOperation& awaited = awaited_[ended.handle];
      if (--awaited.parts > 0) return;
      const Handle own = ended.handle;
      const bool is_new = record_end(ended);
      free_handles_.push_back(own);
      if (!is_new) return;
    } else if (journal_) {
      if (ended.kind == Ended::Kind::arrived)
        journal_->arrived(ended.handle);
      else if (!journal_->injected(ended.handle))
        return;
    }
    completed.push_back({ended.handle, ended.at, ended.kind != Ended::Kind::injected});
  };
  for (auto& ended : ended_) {  // all of one tick, in the order of nodes
    std::ranges::for_each(ended, take);
    ended.clear();
  }
}

bool Fabric::record_end(Ended& ended) {
  const auto [handle, parts, context, rank, operation, reported] = awaited_[ended.handle];
  ended.handle = handle;
  std::optional<Communicator>& completed = communicators_[context];
  if (ended.kind == Ended::Kind::row) {
    if (!reported && completed) completed->loading[rank].reset();
  } else if (journal_) {
    journal_->complete(context, operation, rank);
    if (completed->freeing && !journal_->open(context)) free_communicator(context);
  }
  return !reported;
}

void Fabric::send(const MessageRequest& request, Tick at) {
  require(request.source < config_.nodes && request.destination < config_.nodes, "a message from node ", request.source,
          " to node ", request.destination, ": there are ", config_.nodes, " nodes");
  check_time(at);
  if (journal_) journal_->send(request);
  nodes_[request.source]->send(messages_.add(request), std::max(at, resumes_));
}

void Fabric::advance(Tick until, std::vector<Completion>& completed) {
  const std::size_t before = completed.size();
  while (completed.size() == before && (until == kNever ? !idle() : now() < until) && !failure_) {
    scheduler_->advance(until);
    take_completed(completed);
    give_up_links();
  }
}

bool Fabric::idle() const {
  return scheduler_->next_due() == kNever;
}

// ------------------------------------------------------------------------------------------------------- Reports

std::vector<LinkUse> Fabric::link_use() const {
  std::vector<LinkUse> use;
  for (NodeId node = 0; node < config_.nodes; ++node)
    for (unsigned port = 0; port < config_.router.link_ports; ++port)
      if (const auto flits = flits_before_[std::size_t{node} * config_.router.link_ports + port] +
                             nodes_[node]->router().flits_sent(port))
        use.push_back({node, port, flits});
  return use;
}

std::uint64_t Fabric::unrouted(NodeId node) const {
  return unrouted_before_[node] + nodes_[node]->router().flits_unrouted();
}

std::vector<Lost> Fabric::lost() const {
  std::vector<Lost> lost;
  for (NodeId node = 0; node < config_.nodes; ++node)
    if (const auto flits = unrouted(node)) lost.push_back({node, "flits of packets without a route", flits});
  return lost;
}

std::uint64_t Fabric::flit_hops() const {
  std::uint64_t hops = 0;
  for (const LinkUse& use : link_use()) hops += use.flits;
  return hops;
}

std::uint64_t Fabric::credits_out() const {
  std::uint64_t out = 0;
  for (const auto& node : nodes_) out += node->unit().credits_out();
  return out;
}

std::uint64_t Fabric::stored_packets() const {
  std::uint64_t stored = 0;
  for (const auto& node : nodes_) stored += node->stored_packets();
  return stored;
}

/// The rank of a vertex, or the first one found along its chain of waits; nothing if that leads to no rank.
std::optional<std::uint32_t> Fabric::waited_rank(const Part& part, std::uint32_t vertex) const {
  const auto vertices = part.group.vertices();
  for (std::size_t hops = 0; hops < vertices.size(); ++hops) {
    if (vertices[vertex].row.has_rank()) return vertex;
    const auto blockages = nodes_[vertices[vertex].node]->unit().blockages(now());
    const auto next = std::ranges::find_if(
        blockages, [&](const Blockage& blocked) { return blocked.context == part.row && blocked.edge != kMaxEdges; });
    if (next == blockages.end()) return std::nullopt;
    vertex = vertices[vertex].peer[next->edge];
  }
  return std::nullopt;
}

Blocked Waiting::blocked() const {
  const auto name = [this](std::uint32_t of) { return text("rank ", of, " of communicator ", context); };
  return {.who = name(rank), .what = what, .on = name(peer), .since = since};
}

std::vector<Blocked> Fabric::blocked() const {
  std::vector<Blocked> all;
  for (const Waiting& waiting : this->waiting()) all.push_back(waiting.blocked());
  return all;
}

std::vector<Waiting> Fabric::waiting() const {
  std::vector<Waiting> result;
  for (ContextId context = 0; context < communicators_.size(); ++context) {
    if (!communicators_[context]) continue;
    const Communicator& communicator = *communicators_[context];
    communicator.open.each([&](std::uint64_t number, const OpenOperation& operation) {
      for (std::uint32_t rank = 0; rank < communicator.main.group.ranks(); ++rank)
        if (!operation.ranks[rank])
          result.push_back({context, operation.first.rank, rank,
                            text("to begin ", spec::name(operation.first.collective), ", operation ", number),
                            operation.at});
    });
    each_part(communicator, [&](const Part& part) {
      for (const Group::Vertex& vertex : part.group.vertices().first(part.group.ranks()))
        for (const Blockage& blocked : nodes_[vertex.node]->unit().blockages(now())) {
          if (blocked.context != part.row || blocked.edge == kMaxEdges) continue;
          const std::optional<std::uint32_t> peer = waited_rank(part, vertex.peer[blocked.edge]);
          if (!peer) continue;
          const char* reason = blocked.need == Blockage::Need::data     ? "to get data"
                               : blocked.need == Blockage::Need::credit ? "to send data, as the slot is full"
                                                                        : "to end an earlier operation";
          result.push_back({context, vertex.row.rank, *peer, reason, blocked.since});
        }
    });
  }
  return result;
}

}  // namespace thalweg::mpi_fpga
