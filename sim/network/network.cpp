// SPDX-License-Identifier: Apache-2.0
#include "network/network.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "core/microseconds.hpp"
#include "core/random.hpp"
#include "core/require.hpp"
#include "switch/ejection.hpp"
#include "switch/rtl_router.hpp"

namespace thalweg {

namespace {

std::string port_name(NodeId node, unsigned port) {
  return "port " + std::to_string(port) + " of node " + std::to_string(node);
}

void check_router(const RouterConfig& router) {
  require(router.local_ports > 0, "a router has at least one local port");
  require(router.virtual_channels > 0 && router.virtual_channels <= 16, "a port has 1 to 16 virtual channels");
  require(!router.vc_mask.empty() && router.vc_mask.size() <= 2,
          "vc_mask has a row for each of 1 or 2 message classes");
  for (const auto& masks : router.vc_mask) {
    require(!masks.empty(), "vc_mask has at least one route class");
    for (const auto mask : masks)
      require(mask != 0 && mask >> router.virtual_channels == 0,
              "a mask of vc_mask names 1 to virtual_channels channels");
  }
  if (router.flow == FlowControl::margin)
    require(static_cast<Tick>(router.local_buffer_flits) > least_margin(1, router.share),
            "under margin flow control local_buffer_flits is at least " +
                std::to_string(least_margin(1, router.share) + 1));
}

void check_faults(const NetworkConfig& config, const LinkConfig& link) {
  const std::string name = link_name(link);
  require(link.latency <= kMaxFaultyLatency, name + " has faults, and a latency above " +
                                                 std::to_string(kMaxFaultyLatency) + " cycles: no replay covers it");
  require(config.faults.silence >= 1 && config.faults.silence <= INT32_MAX,
          "a link is given up after a silence of at least 1 cycle, and less than 2^31");
  for (const WireFaults& faults : {link.from_a, link.from_b}) {
    for (const double share : {faults.bit_error_rate, faults.frames_lost, faults.frames_duplicated})
      require(share >= 0 && share < 1, name + ": a share of bits or frames is at least 0, and below 1");
    require(faults.down_at >= 0 && faults.up_at >= faults.down_at, name + " comes up before it goes down");
    require(faults.reset_at >= 0, name + ": an end is reset before time starts");
  }
}

void check_link(const NetworkConfig& config, const LinkConfig& link, std::vector<bool>& used) {
  const RouterConfig& router = config.router;
  for (const auto& [node, port] : {std::pair{link.node_a, link.port_a}, std::pair{link.node_b, link.port_b}}) {
    require(node < config.nodes, "a link ends at node " + std::to_string(node) + ", which does not exist");
    require(port < router.link_ports, port_name(node, port) + " is not a link port");
    const auto index = std::size_t{node} * router.link_ports + port;
    require(!used[index], port_name(node, port) + " has two links");
    used[index] = true;
  }
  require(link.latency >= 1, "a link's latency is at least 1 cycle");
  require(link.rate_flits >= 1 && link.rate_cycles >= link.rate_flits,
          "a link's rate is more than 0 and at most 1 flit a cycle");
  if (link.faulty()) check_faults(config, link);
  if (router.flow == FlowControl::margin) {
    const Tick least = link.faulty() ? std::max<Tick>(least_margin(link.latency), replay_window(link.latency) - 1)
                                     : least_margin(link.latency, router.share);
    require(static_cast<Tick>(router.margin_flits) >= least, "the link at " + port_name(link.node_a, link.port_a) +
                                                                 " needs a margin of at least " +
                                                                 std::to_string(least) + " flits");
    require(router.margin_flits < router.buffer_flits, "margin_flits is smaller than buffer_flits");
  }
}

/// Checks each entry of each dimension at each node, for one of its destinations.
template <class CheckRoute>
void check_grid_routes(const NetworkConfig& config, CheckRoute&& check_route) {
  const auto& [size, entries, tag, coordinates] = *config.grid_routes;
  const std::size_t tags = tag.empty() ? 0 : std::size_t{*std::ranges::max_element(tag)} + 1;
  std::size_t volume = 1;
  for (const unsigned n : size) volume *= n;
  bool whole = volume == config.nodes && tag.size() == config.nodes && entries.size() == size.size() &&
               coordinates.size() == config.nodes * size.size();
  for (std::size_t d = 0; whole && d < size.size(); ++d) whole = entries[d].size() == tags * size[d] * size[d];
  require(whole,
          "grid_routes has a tag for each node, and entries for each tag and pair of coordinates of a dimension");
  for (NodeId node = 0; node < config.nodes; ++node)
    for (std::size_t d = 0, stride = 1; d < size.size(); stride *= size[d++]) {
      const auto own = static_cast<unsigned>(node / stride % size[d]);
      for (std::size_t tag_of = 0; tag_of < tags; ++tag_of)
        for (unsigned target = 0; target < size[d]; ++target) {
          const auto destination = static_cast<NodeId>(node + (target - own) * stride);
          check_route(node, destination, entries[d][(tag_of * size[d] + own) * size[d] + target]);
        }
    }
}

}  // namespace

void check_network(const NetworkConfig& config) {
  const RouterConfig& router = config.router;
  require(config.nodes > 0 && config.nodes <= router.header.most_nodes(),
          "a fabric has 1 to " + std::to_string(router.header.most_nodes()) + " nodes");
  check_router(router);
  std::vector<bool> used(std::size_t{config.nodes} * router.link_ports);
  for (const auto& link : config.links) check_link(config, link, used);
  const std::size_t pairs = std::size_t{config.nodes} * config.nodes;
  require(config.layer.empty() || config.layer.size() == pairs, "layer has an entry for each pair of nodes, or none");
  std::size_t classes = router.vc_mask[0].size();
  for (const auto& masks : router.vc_mask) classes = std::min(classes, masks.size());
  const auto check_route = [&](NodeId node, NodeId destination, const RouteEntry& route) {
    if (node == destination || route.port == kNoRoute) return;
    const bool linked = route.port < router.link_ports && used[std::size_t{node} * router.link_ports + route.port];
    if (linked && (route.route_class == kKeepClass || route.route_class < classes)) return;
    const auto entry = "the route from node " + std::to_string(node) + " to " + std::to_string(destination);
    throw std::invalid_argument(entry + (linked ? " has a class without a mask" : " has no link"));
  };
  if (config.grid_routes) {
    check_grid_routes(config, check_route);
  } else {
    require(config.routes.size() == pairs, "routes has an entry for each pair of nodes");
    for (std::size_t i = 0; i < pairs; ++i)
      check_route(static_cast<NodeId>(i / config.nodes), static_cast<NodeId>(i % config.nodes), config.routes[i]);
  }
  for (const auto layer : config.layer) require(layer < classes, "a layer has no mask");
}

VcRouter make_router(const NetworkConfig& config, const Graph& graph, NodeId node) {
  RouteRow row = routes_of(config, graph, node);
  if (!config.router.library) return VcRouter(config.router, node, std::move(row));
  const RouterLibrary& library = *config.router.library;
  auto own = library.compares() ? std::make_unique<VcRouter>(config.router, node, row) : nullptr;
  return VcRouter(config.router, std::make_unique<RtlRouter>(config.router, node, row, library.make(node),
                                                             std::move(own), library.recording(node)));
}

namespace {

/// From the grant of a flit until it has crossed the longest link.
Tick longest_crossing(const NetworkConfig& config) {
  Tick longest = 1;
  for (const LinkConfig& link : config.links) longest = std::max(longest, link.latency);
  return longest + config.router.share.delay() + 2;
}

}  // namespace

Tick horizon(const NetworkConfig& config) {
  return static_cast<Tick>(slots_for(longest_crossing(config)));
}

Tick window(const NetworkConfig& config) {
  Tick shortest = kNever;
  for (const LinkConfig& link : config.links) shortest = std::min(shortest, link.faulty() ? 1 : link.latency);
  return std::min(shortest, std::max<Tick>(1, FlitSink::kMaxFlits - longest_crossing(config)));
}

void Crossing::deliver() {
  for (const auto& flit : flits) flit.deliver();
  for (const auto& bits : events) bits.deliver();
  flits.clear();
  events.clear();
}

std::string link_name(const LinkConfig& link) {
  return "the link between " + port_name(link.node_a, link.port_a) + " and " + port_name(link.node_b, link.port_b);
}

std::string describe_failure(const JoinedLink& joined, std::int64_t ticks_per_second) {
  const auto us = [&](Tick at) { return in_microseconds(at, static_cast<double>(ticks_per_second)); };
  const auto& [config, link] = joined;
  if (link->silent_since() != kNever) return link_name(config) + " is down since " + us(link->silent_since());
  if (const auto& reset = link->lost_by())
    return link_name(config) + " has lost flits, as its end at node " +
           std::to_string(reset->end == 0 ? config.node_a : config.node_b) + " was reset alone at " + us(reset->at);
  return "";
}

FaultyLinkConfig faulty_link(const NetworkConfig& config, std::size_t index) {
  const LinkConfig& link = config.links[index];
  const std::uint64_t seed = mix(config.faults.seed) + 2 * index;
  return {.flow = config.router.flow,
          .virtual_channels = config.router.virtual_channels,
          .buffer_flits = config.router.buffer_flits,
          .latency = link.latency,
          .rate_flits = link.rate_flits,
          .rate_cycles = link.rate_cycles,
          .from_a = link.from_a,
          .from_b = link.from_b,
          .silence = config.faults.silence,
          .seeds = {seed, seed + 1}};
}

namespace {

/// Connects one end of a faulty link to its router; delivered flits enter the router's buffers, or are ejected.
void connect_end(FaultyLink& link, unsigned end, const NetworkConfig& config, const LinkConfig& of, VcRouter& router,
                 NodeId node, unsigned port, unsigned peer_depth) {
  const FlitWire out = link.from_output(end);
  router.connect_output(port, out, peer_depth, RateLimit(of.rate_flits, of.rate_cycles), out, &link.ready(end));
  FlitWire buffers = router.connect_input(port, 1, link.from_input(end));
  FlitWire unit = router.ejected().empty() ? FlitWire{} : router.connect_ejection(port, 1);
  link.connect(
      end,
      [buffers, unit, ejection = Ejection(config.router, node)](const Flit& flit, Tick now) mutable {
        (ejection.takes(flit) ? unit : buffers).write(now, flit.vc) = flit;
      },
      router.events(port, 1));
}

}  // namespace

std::vector<JoinedLink> connect_links(const NetworkConfig& config, std::span<VcRouter* const> routers,
                                      Scheduler& scheduler, std::span<Crossing> crossings) {
  std::vector<JoinedLink> faulty;
  for (std::size_t index = 0; index < config.links.size(); ++index) {
    const LinkConfig& link = config.links[index];
    VcRouter &a = *routers[link.node_a], &b = *routers[link.node_b];
    if (link.faulty()) {
      faulty.push_back({link, std::make_unique<FaultyLink>(faulty_link(config, index), scheduler)});
      FaultyLink& joined = *faulty.back().link;
      connect_end(joined, 0, config, link, a, link.node_a, link.port_a, b.depth(link.port_b));
      connect_end(joined, 1, config, link, b, link.node_b, link.port_b, a.depth(link.port_a));
      continue;
    }
    const auto connect = [&](VcRouter& from, unsigned output, VcRouter& to, unsigned input) {
      const Share& share = config.router.share;
      const Tick latency = link.latency + share.delay() + 1;
      const unsigned writer = Scheduler::partition_of(from.inbox().component());
      const unsigned reader = Scheduler::partition_of(to.inbox().component());
      EventWire back = from.events(output, link.latency);
      if (reader != writer) back.keep_in(crossings[reader].events);
      FlitWire wire = to.connect_input(input, latency, back);
      FlitWire eject = to.ejected().empty() ? FlitWire{} : to.connect_ejection(input, latency);
      if (reader != writer) {
        wire.keep_in(crossings[writer].flits);
        eject.keep_in(crossings[writer].flits);
      }
      from.connect_output(output, wire, to.depth(input),
                          RateLimit(link.rate_flits * share.flits, link.rate_cycles * share.cycles), eject);
    };
    connect(a, link.port_a, b, link.port_b);
    connect(b, link.port_b, a, link.port_a);
  }
  return faulty;
}

void connect_sender(const RouterConfig& config, FlitSender& sender, VcRouter& router, unsigned port) {
  const auto wire = router.connect_input(port, 1 + config.share.delay(), EventWire(sender.inbox(), 0, 1));
  sender.connect(wire, config.flow, config.virtual_channels, router.depth(port), config.share);
}

void connect_receiver(const RouterConfig& config, VcRouter& router, unsigned port, FlitReceiver& receiver,
                      unsigned depth) {
  const auto wire = receiver.connect(2 + config.share.delay(), router.events(port, 1), config.flow,
                                     config.virtual_channels, depth, config.share);
  router.connect_output(port, wire, depth, RateLimit(config.share.flits, config.share.cycles));
}

}  // namespace thalweg
