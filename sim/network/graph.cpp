// SPDX-License-Identifier: Apache-2.0
#include "network/graph.hpp"

#include <utility>

namespace thalweg {

Graph::Graph(const NetworkConfig& config)
    : nodes_(config.nodes),
      ports_(config.router.link_ports),
      peers_(std::size_t{config.nodes} * config.router.link_ports),
      distances_(config.nodes) {
  for (const LinkConfig& link : config.links) {
    peers_[std::size_t{link.node_a} * ports_ + link.port_a] = {link.node_b, link.port_b};
    peers_[std::size_t{link.node_b} * ports_ + link.port_b] = {link.node_a, link.port_a};
  }
}

std::span<const std::uint16_t> Graph::distances(NodeId from) const {
  std::vector<std::uint16_t>& known = distances_[from];
  if (!known.empty()) return known;
  known.assign(nodes_, kFar);
  known[from] = 0;
  std::vector<NodeId> reached{from};
  for (std::size_t i = 0; i < reached.size(); ++i)
    for (unsigned port = 0; port < ports_; ++port) {
      const NodeId next = peer(reached[i], port).node;
      if (next == kNone || known[next] != kFar) continue;
      known[next] = static_cast<std::uint16_t>(known[reached[i]] + 1);
      reached.push_back(next);
    }
  return known;
}

RouteRow routes_of(const NetworkConfig& config, const Graph& graph, NodeId node) {
  std::vector<NodeId> peers;
  for (unsigned port = 0; port < graph.ports(); ++port) peers.push_back(graph.peer(node, port).node);
  if (config.grid_routes) return {config.grid_routes, node, std::move(peers)};
  const auto first = config.routes.begin() + std::ptrdiff_t{node} * config.nodes;
  std::vector<RouteEntry> row(first, first + config.nodes);
  for (unsigned port = 0; port < peers.size(); ++port)
    if (peers[port] != Graph::kNone) row[peers[port]].last_link |= row[peers[port]].port == port;
  return row;
}

}  // namespace thalweg
