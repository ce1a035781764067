// SPDX-License-Identifier: Apache-2.0
// Configuration of a network: routers, links between them, and routes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/types.hpp"
#include "link/noisy_wire.hpp"
#include "switch/grid_routes.hpp"
#include "switch/router_config.hpp"

namespace thalweg {

/// A bidirectional link between two link ports; each direction has its own wires.
struct LinkConfig {
  NodeId node_a = 0, node_b = 0;
  unsigned port_a = 0, port_b = 0;
  Tick latency = 1;         ///< cycles from an output register to the next input port, at least 1
  unsigned rate_flits = 1;  ///< at most rate_flits in any rate_cycles cycles; 1/1: the port's own rate
  unsigned rate_cycles = 1;
  /// Faults of frames from a to b, and from b to a. With any, both ends have a replay and its codec (docs/links.md).
  WireFaults from_a{}, from_b{};

  [[nodiscard]] bool faulty() const { return from_a.any() || from_b.any(); }
};

struct NetworkConfig;

/// Common configuration of links with faults.
struct FaultConfig {
  std::uint64_t seed = 1;  ///< seed of all random faults
  Tick silence = 100'000;  ///< ticks without a good frame after which a link is given up
  Tick rebuild = 0;        ///< ticks from then until the network resumes with other routes
  /// Returns a network with routes and layers that avoid these links, for the same masks; throws std::runtime_error
  /// with a one-line message if none exists. Null: the network does not recover from a link that is given up.
  std::function<NetworkConfig(const std::vector<LinkConfig>& without)> reroute{};
};

struct NetworkConfig {
  std::int64_t ticks_per_second = 250'000'000;
  unsigned nodes = 0;
  unsigned switches = 0;       ///< number of nodes without a host, and thus without ranks; the last ones
  std::vector<unsigned> grid;  ///< nodes per dimension of a grid, first dimension fastest; empty: no grid
  std::vector<LinkConfig> links;
  RouterConfig router;
  std::vector<RouteEntry> routes;  ///< routes[node * nodes + destination]; a node's entry for itself is unused
  std::shared_ptr<const GridRoutes> grid_routes;  ///< instead of `routes`; null: none
  std::vector<std::uint8_t> layer;                ///< layer[source * nodes + destination]: class at injection; empty: 0
  FaultConfig faults;

  [[nodiscard]] RouteEntry route(NodeId node, NodeId destination) const {
    return grid_routes ? grid_routes->entry(node, destination) : routes[std::size_t{node} * nodes + destination];
  }
  /// Virtual channels that a packet of a message class may take from its source.
  [[nodiscard]] std::uint32_t channels(std::size_t message_class, NodeId source, NodeId destination) const {
    return router.vc_mask[message_class][layer.empty() ? 0 : layer[std::size_t{source} * nodes + destination]];
  }
};

}  // namespace thalweg
