// SPDX-License-Identifier: Apache-2.0
#include "mpi_fpga/relay.hpp"

#include <algorithm>

#include "common/bits.hpp"

namespace thalweg::mpi_fpga {

namespace {

std::vector<Graph::End> peers_of(const Graph& graph, NodeId self, unsigned links) {
  std::vector<Graph::End> peers(links);
  for (unsigned link = 0; link < links; ++link) peers[link] = graph.peer(self, link);
  return peers;
}

std::span<const std::uint8_t> layers_of(const FabricConfig& config, NodeId self) {
  if (config.layer.empty()) return {};
  return std::span(config.layer).subspan(std::size_t{self} * config.nodes, config.nodes);
}

}  // namespace

Relay::Relay(const Sizes& sizes, NodeId self, std::vector<RouteEntry> ways, std::span<const std::uint8_t> layers,
             std::vector<Graph::End> peers)
    : self_(self),
      ways_(std::move(ways)),
      layers_(layers),
      peers_(std::move(peers)),
      classes_(sizes.classes),
      capacity_(sizes.flits),
      batch_(std::max(1u, capacity_ / 4)),
      buffers_(peers_.size() * classes_, Buffer{.credits = capacity_}),
      memories_(peers_.size()),
      lanes_(sizes.lanes),
      hosts_(sizes.lanes),
      wishes_(sizes.lanes),
      asking_(peers_.size()) {
  for (Memory& memory : memories_) {
    memory.announced.resize(buffers_.size());
    memory.data.resize(buffers_.size());
  }
}

Relay::Relay(const FabricConfig& config, const Graph& graph, NodeId self, unsigned lanes)
    : Relay({static_cast<unsigned>(config.router.vc_mask.back().size()), lanes, config.collective.relay_flits}, self,
            ways_of(config, graph, self), layers_of(config, self), peers_of(graph, self, config.router.link_ports)) {}

std::vector<RouteEntry> Relay::ways_of(const FabricConfig& config, const Graph& graph, NodeId self) {
  const std::span routes = std::span(config.routes).subspan(std::size_t{self} * config.nodes, config.nodes);
  std::vector<RouteEntry> ways(routes.begin(), routes.end());
  for (NodeId node = 0; node < config.nodes; ++node) {
    if (node == self || ways[node].port == kNoRoute) continue;
    const NodeId next = graph.peer(self, ways[node].port).node;
    if (const unsigned direct = routes[next].port; direct < graph.ports() && graph.peer(self, direct).node == next)
      ways[node].port = routes[next].port;
  }
  return ways;
}

Relay::Hop Relay::next(NodeId receiver, unsigned route_class) const {
  const RouteEntry entry = ways_[receiver];
  return {entry.port, entry.route_class == kKeepClass ? static_cast<std::uint8_t>(route_class) : entry.route_class};
}

Relay::Hop Relay::first(NodeId receiver) const {
  return next(receiver, layers_.empty() ? 0 : layers_[receiver]);
}

// ------------------------------------------------------------------------------------------------------- Inputs

void Relay::arrive(unsigned link, PacketId id, const Packet& packet) {
  Waiting waiting{.id = id, .place = place(packet), .hop = {}, .flits = packet.flits, .announces = announces(packet)};
  const NodeId receiver = spec::relay_header::receiver(packet.words[1]);
  Memory& memory = memories_[link];
  stirred_ = true;
  if (receiver == self_) {
    memory.host.push_growing(waiting);
    ++hosts_[lane_of(link)].data;
    return;
  }
  waiting.hop = next(receiver, waiting.place.route_class);
  Lane& lane = lanes_[lane_of(waiting.hop.link)];
  (waiting.announces ? memory.announced : memory.data)[index(waiting.hop)].push_growing(waiting);
  ++(waiting.announces ? lane.announced : lane.data);
}

void Relay::credit(const spec::RelayCredit& credit) {
  buffers_[index({credit.link, credit.route_class})].credits += credit.count;
  stirred_ = true;
}

void Relay::free(Hop place, unsigned flits) {
  freed_.emplace_back(index(place), flits);
  stirred_ = true;
}

void Relay::give(unsigned lane, PacketId id, const Packet& packet) {
  lanes_[lane].own.push_growing({.id = id,
                                 .place = {kNoLink, 0},
                                 .hop = first(spec::relay_header::receiver(packet.words[1])),
                                 .flits = packet.flits,
                                 .announces = announces(packet)});
  stirred_ = true;
}

void Relay::host_room(unsigned lane, unsigned flits) {
  hosts_[lane].room = flits;
  stirred_ = true;
}

// --------------------------------------------------------------------------------------------------- Selections

std::uint32_t Relay::settle(Tick now) {
  std::uint32_t news = 0;
  for (Host& host : hosts_) {
    if (!host.busy || host.at > now) continue;
    host.busy = false;
    --memories_[*host.link].readers;
    free(host.packet.place, host.packet.flits);
  }
  for (const auto& [buffer, flits] : freed_) {
    std::uint32_t& owed = buffers_[buffer].owed;
    const bool was_due = owed >= batch_;
    owed += flits;
    if (was_due || owed < batch_) continue;
    const unsigned lane = lane_of(buffer / classes_);
    ++lanes_[lane].due;
    news |= 1u << lane;
  }
  freed_.clear();
  return news;
}

Relay::Choices Relay::choose(Tick now) {
  Choices choices;
  if (!std::exchange(stirred_, false)) return choices;
  std::uint64_t asked = 0;  // memories
  const auto ask = [&](unsigned link, unsigned reader) {
    asking_[link] |= std::uint64_t{1} << reader;
    asked |= std::uint64_t{1} << link;
  };
  for (unsigned lane = 0; lane < lanes(); ++lane) {
    if (const auto link = wish_of_host(lane)) ask(*link, lanes());
    if (lanes_[lane].busy) continue;
    wishes_[lane] = wish(lane);
    if (!wishes_[lane].queue) continue;
    if (wishes_[lane].link) {
      ask(*wishes_[lane].link, lane);
    } else {
      begin(lane, wishes_[lane], now);
      choices.lanes |= 1u << lane;
    }
  }
  each_bit(asked, [&](unsigned link) {
    Memory& memory = memories_[link];
    const unsigned reader = memory.turn.pick(std::exchange(asking_[link], 0));
    memory.turn.accept(reader, lanes() + 1);
    ++memory.readers;
    stirred_ = true;  // for the requests not granted
    if (reader < lanes()) {
      begin(reader, wishes_[reader], now);
      choices.lanes |= 1u << reader;
    } else {
      begin_host(link);
      choices.hosts |= 1u << lane_of(link);
    }
  });
  return choices;
}

Relay::Wish Relay::wish(unsigned lane) {
  Ring<Waiting>& own = lanes_[lane].own;
  const bool own_goes = !own.empty() && room(own.front());
  if (lanes_[lane].announced)
    if (const Wish wish = queued(lane, &Memory::announced); wish.queue) return wish;
  if (own_goes && own.front().announces) return {.queue = &own};
  if (lanes_[lane].data)
    if (const Wish wish = queued(lane, &Memory::data); wish.queue) return wish;
  return own_goes ? Wish{.queue = &own} : Wish{};
}

Relay::Wish Relay::queued(unsigned lane, Queues Memory::* kind) {
  const unsigned buffers = buffers_of(lane), queues = links() * buffers;
  Wish next;
  for (unsigned i = 0, turn = lanes_[lane].turn; i < queues; ++i, turn = turn + 1 < queues ? turn + 1 : 0) {
    const unsigned link = turn / buffers;
    Memory& memory = memories_[link];
    Ring<Waiting>& queue = (memory.*kind)[buffer_of(lane, turn % buffers)];
    if (queue.empty() || !readable(memory) || !room(queue.front())) continue;
    const Wish wish{&queue, link, turn + 1 < queues ? turn + 1 : 0};
    if (queue.size() > 1) return wish;
    if (!next.queue) next = wish;
  }
  return next;
}

/// Link of the packet that the host requests for a lane.
std::optional<unsigned> Relay::wish_of_host(unsigned lane) const {
  const Host& host = hosts_[lane];
  if (host.busy || !host.data) return std::nullopt;
  std::uint64_t ready = 0;
  for (unsigned i = 0; i < links_of(lane); ++i) {
    const Memory& memory = memories_[lane + i * lanes()];
    if (readable(memory) && !memory.host.empty() && memory.host.front().flits <= host.room)
      ready |= std::uint64_t{1} << i;
  }
  return ready ? std::optional(lane + host.turn.pick(ready) * lanes()) : std::nullopt;
}

void Relay::begin(unsigned index_of_lane, const Wish& wish, Tick now) {
  Lane& lane = lanes_[index_of_lane];
  static_cast<Reading&>(lane) = {true, wish.queue->front(), wish.link, now + 1};
  wish.queue->pop();
  buffers_[index(lane.packet.hop)].credits -= lane.packet.flits;
  if (!wish.link) return;
  lane.turn = wish.turn;
  --(lane.packet.announces ? lane.announced : lane.data);
}

void Relay::begin_host(unsigned link) {
  const unsigned lane = lane_of(link);
  Host& host = hosts_[lane];
  Ring<Waiting>& queue = memories_[link].host;
  static_cast<Reading&>(host) = {true, queue.front(), link, kNever};
  queue.pop();
  --host.data;
  host.turn.accept(link / lanes(), links_of(lane));
}

// ------------------------------------------------------------------------------------------------------- Outputs

void Relay::address(unsigned lane, Packet& packet) const {
  const Hop hop = lanes_[lane].packet.hop;
  const Graph::End end = peers_[hop.link];
  std::uint64_t& head = packet.words[0];
  head = spec::network_header::with_destination(head, static_cast<std::uint16_t>(end.node));
  head = spec::network_header::with_edge(head, static_cast<std::uint8_t>(lane_of(end.port)));
  packet.words[1] = spec::RelayHeader{.receiver = spec::relay_header::receiver(packet.words[1]),
                                      .link = static_cast<std::uint8_t>(end.port),
                                      .route_class = hop.route_class}
                        .pack();
}

void Relay::sent(unsigned index_of_lane) {
  Lane& lane = lanes_[index_of_lane];
  lane.busy = false;
  stirred_ = true;
  if (!lane.link) return;
  --memories_[*lane.link].readers;
  free(lane.packet.place, lane.packet.flits);
}

/// The lane's buffer with the next credit.
unsigned Relay::due_place(unsigned lane) const {
  unsigned place = lanes_[lane].credit_turn;
  while (buffers_[buffer_of(lane, place)].owed < batch_) place = place + 1 < buffers_of(lane) ? place + 1 : 0;
  return place;
}

spec::RelayCredit Relay::next_credit(unsigned lane) const {
  const unsigned buffer = buffer_of(lane, due_place(lane));
  const Graph::End end = peers_[buffer / classes_];
  return {.destination = static_cast<std::uint16_t>(end.node),
          .edge = static_cast<std::uint8_t>(lane_of(end.port)),
          .last = true,
          .count = buffers_[buffer].owed,
          .link = static_cast<std::uint8_t>(end.port),
          .route_class = static_cast<std::uint8_t>(buffer % classes_)};
}

spec::RelayCredit Relay::take_credit(unsigned lane) {
  const spec::RelayCredit credit = next_credit(lane);
  const unsigned place = due_place(lane);
  buffers_[buffer_of(lane, place)].owed = 0;
  lanes_[lane].credit_turn = place + 1 < buffers_of(lane) ? place + 1 : 0;
  --lanes_[lane].due;
  return credit;
}

std::int64_t Relay::places_out() const {
  std::int64_t out = 0;
  for (const Buffer& buffer : buffers_) out += std::int64_t{capacity_} - buffer.credits - buffer.owed;
  for (const auto& [buffer, flits] : freed_) out -= flits;
  return out;
}

}  // namespace thalweg::mpi_fpga
