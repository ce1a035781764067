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

std::vector<std::uint8_t> direct_links(const FabricConfig& config, const Graph& graph, NodeId self) {
  std::vector<std::uint8_t> direct(graph.ports());
  for (unsigned port = 0; port < graph.ports(); ++port) {
    direct[port] = static_cast<std::uint8_t>(port);
    const NodeId peer = graph.peer(self, port).node;
    if (peer == Graph::kNone || peer == self) continue;
    const std::uint8_t used = config.route(self, peer).port;
    if (used < graph.ports() && graph.peer(self, used).node == peer) direct[port] = used;
  }
  return direct;
}

RouteEntry over(const std::vector<std::uint8_t>& direct, RouteEntry route) {
  if (route.port < direct.size()) route.port = direct[route.port];
  return route;
}

std::span<const std::uint8_t> layers_of(const FabricConfig& config, NodeId self) {
  if (config.layer.empty()) return {};
  return std::span(config.layer).subspan(std::size_t{self} * config.nodes, config.nodes);
}

}  // namespace

Relay::Relay(const Sizes& sizes, NodeId self, RouteRow routes, std::vector<std::uint8_t> direct,
             std::span<const std::uint8_t> layers, std::vector<Graph::End> peers)
    : self_(self),
      routes_(std::move(routes)),
      direct_(std::move(direct)),
      layers_(layers),
      peers_(std::move(peers)),
      classes_(sizes.classes),
      capacity_(sizes.flits),
      batch_(std::max(1u, capacity_ / 4)),
      buffers_(peers_.size() * classes_, Buffer{.credits = capacity_}),
      memories_(peers_.size()),
      lanes_(sizes.lanes),
      hosts_(sizes.lanes),
      requests_(sizes.lanes),
      requesters_(peers_.size()) {}

Relay::Relay(const FabricConfig& config, const Graph& graph, NodeId self, unsigned lanes)
    : Relay({static_cast<unsigned>(config.router.vc_mask.back().size()), lanes, config.collective.relay_flits}, self,
            thalweg::routes_of(config, graph, self), direct_links(config, graph, self), layers_of(config, self),
            peers_of(graph, self, config.router.link_ports)) {}

std::vector<RouteEntry> Relay::routes_of(const FabricConfig& config, const Graph& graph, NodeId self) {
  const auto direct = direct_links(config, graph, self);
  std::vector<RouteEntry> routes;
  for (NodeId node = 0; node < config.nodes; ++node) routes.push_back(over(direct, config.route(self, node)));
  return routes;
}

Relay::Hop Relay::next(NodeId receiver, unsigned route_class) const {
  const RouteEntry entry = over(direct_, routes_[receiver]);
  return {entry.port, entry.route_class == kKeepClass ? static_cast<std::uint8_t>(route_class) : entry.route_class};
}

Relay::Hop Relay::first(NodeId receiver) const {
  return next(receiver, layers_.empty() ? 0 : layers_[receiver]);
}

// ------------------------------------------------------------------------------------------------------- Inputs

void Relay::arrive(unsigned link, PacketId id, const Packet& packet) {
  Waiting waiting{.id = id,
                  .occupied_buffer = occupied_buffer(packet),
                  .hop = {},
                  .flits = packet.flits,
                  .announces = announces(packet)};
  const NodeId receiver = spec::relay_header::receiver(packet.words[1]);
  Memory& memory = memories_[link];
  changed_ = true;
  if (receiver == self_) {
    memory.host.push_growing(waiting);
    ++hosts_[lane_of(link)].data;
    return;
  }
  waiting.hop = next(receiver, waiting.occupied_buffer.route_class);
  Lane& lane = lanes_[lane_of(waiting.hop.link)];
  (waiting.announces ? memory.announced : memory.data)[index(waiting.hop)].push_growing(waiting);
  ++(waiting.announces ? lane.announced : lane.data);
}

void Relay::credit(const spec::RelayCredit& credit) {
  buffers_[index({credit.link, credit.route_class})].credits += credit.count;
  changed_ = true;
}

void Relay::free(Hop buffer, unsigned flits) {
  freed_.emplace_back(index(buffer), flits);
  changed_ = true;
}

void Relay::add_own(unsigned lane, PacketId id, const Packet& packet) {
  lanes_[lane].own.push_growing({.id = id,
                                 .occupied_buffer = {kNoLink, 0},
                                 .hop = first(spec::relay_header::receiver(packet.words[1])),
                                 .flits = packet.flits,
                                 .announces = announces(packet)});
  changed_ = true;
}

void Relay::host_room(unsigned lane, unsigned flits) {
  hosts_[lane].room = flits;
  changed_ = true;
}

// --------------------------------------------------------------------------------------------------- Selections

std::uint32_t Relay::settle(Tick now) {
  std::uint32_t newly_due = 0;
  if (read_end_ <= now) {
    read_end_ = kNever;
    for (Host& host : hosts_) {
      if (!host.busy) continue;
      if (host.at > now) {
        read_end_ = std::min(read_end_, host.at);
        continue;
      }
      host.busy = false;
      --memories_[*host.link].readers;
      free(host.packet.occupied_buffer, host.packet.flits);
    }
  }
  for (const auto& [buffer, flits] : freed_) {
    std::uint32_t& unreturned = buffers_[buffer].unreturned;
    const bool was_due = unreturned >= batch_;
    unreturned += flits;
    if (was_due || unreturned < batch_) continue;
    const unsigned lane = lane_of(buffer / classes_);
    ++lanes_[lane].due;
    newly_due |= 1u << lane;
  }
  freed_.clear();
  return newly_due;
}

Relay::Choices Relay::choose(Tick now) {
  Choices choices;
  if (!std::exchange(changed_, false)) return choices;
  std::uint64_t requested = 0;  // memories
  const auto add_request = [&](unsigned link, unsigned reader) {
    requesters_[link] |= std::uint64_t{1} << reader;
    requested |= std::uint64_t{1} << link;
  };
  for (unsigned lane = 0; lane < lanes(); ++lane) {
    if (const auto link = host_request(lane)) add_request(*link, lanes());
    if (lanes_[lane].busy) continue;
    requests_[lane] = request(lane);
    if (!requests_[lane].queue) continue;
    if (requests_[lane].link) {
      add_request(*requests_[lane].link, lane);
    } else {
      begin(lane, requests_[lane], now);
      choices.lanes |= 1u << lane;
    }
  }
  each_bit(requested, [&](unsigned link) {
    Memory& memory = memories_[link];
    const unsigned reader = memory.arbiter.pick(std::exchange(requesters_[link], 0));
    memory.arbiter.accept(reader, lanes() + 1);
    ++memory.readers;
    changed_ = true;  // for the requests not granted
    if (reader < lanes()) {
      begin(reader, requests_[reader], now);
      choices.lanes |= 1u << reader;
    } else {
      begin_host(link);
      choices.hosts |= 1u << lane_of(link);
    }
  });
  return choices;
}

Relay::Request Relay::request(unsigned lane) {
  Ring<Waiting>& own = lanes_[lane].own;
  const bool own_ready = !own.empty() && room(own.front());
  if (lanes_[lane].announced)
    if (const Request request = queued(lane, &Memory::announced); request.queue) return request;
  if (own_ready && own.front().announces) return {.queue = &own};
  if (lanes_[lane].data)
    if (const Request request = queued(lane, &Memory::data); request.queue) return request;
  return own_ready ? Request{.queue = &own} : Request{};
}

Relay::Request Relay::queued(unsigned lane, Queues Memory::* kind) {
  const unsigned buffers = buffers_of(lane), queues = links() * buffers;
  Request next;
  for (unsigned i = 0, next_queue = lanes_[lane].next_queue; i < queues;
       ++i, next_queue = next_queue + 1 < queues ? next_queue + 1 : 0) {
    const unsigned link = next_queue / buffers;
    Memory& memory = memories_[link];
    const std::size_t buffer = buffer_of(lane, next_queue % buffers);
    if (std::as_const(memory.*kind)[buffer].empty() || !readable(memory)) continue;
    Ring<Waiting>& queue = (memory.*kind)[buffer];
    if (!room(queue.front())) continue;
    const Request request{&queue, link, next_queue + 1 < queues ? next_queue + 1 : 0};
    if (queue.size() > 1) return request;
    if (!next.queue) next = request;
  }
  return next;
}

/// Link of the packet that the host requests for a lane.
std::optional<unsigned> Relay::host_request(unsigned lane) const {
  const Host& host = hosts_[lane];
  if (host.busy || !host.data) return std::nullopt;
  std::uint64_t ready = 0;
  for (unsigned i = 0; i < links_of(lane); ++i) {
    const Memory& memory = memories_[lane + i * lanes()];
    if (readable(memory) && !memory.host.empty() && memory.host.front().flits <= host.room)
      ready |= std::uint64_t{1} << i;
  }
  return ready ? std::optional(lane + host.arbiter.pick(ready) * lanes()) : std::nullopt;
}

void Relay::begin(unsigned index_of_lane, const Request& request, Tick now) {
  Lane& lane = lanes_[index_of_lane];
  static_cast<Reading&>(lane) = {true, request.queue->front(), request.link, now + 1};
  request.queue->pop();
  buffers_[index(lane.packet.hop)].credits -= lane.packet.flits;
  if (!request.link) return;
  lane.next_queue = request.next_queue;
  --(lane.packet.announces ? lane.announced : lane.data);
}

void Relay::begin_host(unsigned link) {
  const unsigned lane = lane_of(link);
  Host& host = hosts_[lane];
  Ring<Waiting>& queue = memories_[link].host;
  static_cast<Reading&>(host) = {true, queue.front(), link, kNever};
  queue.pop();
  --host.data;
  host.arbiter.accept(link / lanes(), links_of(lane));
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
  changed_ = true;
  if (!lane.link) return;
  --memories_[*lane.link].readers;
  free(lane.packet.occupied_buffer, lane.packet.flits);
}

/// The lane's buffer with the next credit.
unsigned Relay::due_buffer(unsigned lane) const {
  unsigned buffer = lanes_[lane].next_credit_buffer;
  while (buffers_[buffer_of(lane, buffer)].unreturned < batch_) buffer = buffer + 1 < buffers_of(lane) ? buffer + 1 : 0;
  return buffer;
}

spec::RelayCredit Relay::next_credit(unsigned lane) const {
  const unsigned buffer = buffer_of(lane, due_buffer(lane));
  const Graph::End end = peers_[buffer / classes_];
  return {.destination = static_cast<std::uint16_t>(end.node),
          .edge = static_cast<std::uint8_t>(lane_of(end.port)),
          .last = true,
          .count = buffers_[buffer].unreturned,
          .link = static_cast<std::uint8_t>(end.port),
          .route_class = static_cast<std::uint8_t>(buffer % classes_)};
}

spec::RelayCredit Relay::take_credit(unsigned lane) {
  const spec::RelayCredit credit = next_credit(lane);
  const unsigned buffer = due_buffer(lane);
  buffers_[buffer_of(lane, buffer)].unreturned = 0;
  lanes_[lane].next_credit_buffer = buffer + 1 < buffers_of(lane) ? buffer + 1 : 0;
  --lanes_[lane].due;
  return credit;
}

std::int64_t Relay::outstanding_flits() const {
  std::int64_t out = 0;
  for (const Buffer& buffer : buffers_) out += std::int64_t{capacity_} - buffer.credits - buffer.unreturned;
  for (const auto& [buffer, flits] : freed_) out -= flits;
  return out;
}

}  // namespace thalweg::mpi_fpga
