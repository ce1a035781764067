// SPDX-License-Identifier: Apache-2.0
// Fat trees of two levels for tests: a small, independent alternative to the descriptions of cluster files.
#pragma once

#include <algorithm>
#include <cstddef>

#include "network/config.hpp"

namespace thalweg::test {

/// `leaves` switches with `down` hosts each below `spines` switches. Hosts are numbered first, then leaves, then
/// spines. A leaf's ports 0 .. down-1 lead to its hosts, the next ones to the spines; port i of a spine leads to leaf
/// i. Packets go up by the spine of their destination's number; between spines, over the first leaf.
inline NetworkConfig fat_tree(unsigned leaves, unsigned down, unsigned spines) {
  NetworkConfig config;
  const NodeId hosts = leaves * down, first_spine = hosts + leaves;
  config.nodes = first_spine + spines;
  config.switches = leaves + spines;
  config.router.link_ports = std::max(down + spines, leaves);
  config.router.virtual_channels = 2;
  config.router.vc_mask = {{0b01}, {0b10}};
  const auto leaf_of = [&](NodeId host) { return hosts + host / down; };
  for (NodeId host = 0; host < hosts; ++host)
    config.links.push_back({.node_a = host, .node_b = leaf_of(host), .port_a = 0, .port_b = host % down});
  for (unsigned leaf = 0; leaf < leaves; ++leaf)
    for (unsigned spine = 0; spine < spines; ++spine)
      config.links.push_back(
          {.node_a = hosts + leaf, .node_b = first_spine + spine, .port_a = down + spine, .port_b = leaf});

  config.routes.resize(std::size_t{config.nodes} * config.nodes);
  for (NodeId node = 0; node < config.nodes; ++node)
    for (NodeId to = 0; to < config.nodes; ++to) {
      const NodeId leaf = to < hosts ? leaf_of(to) : to;  // where the downward path begins
      unsigned port = 0;
      if (node >= first_spine)
        port = leaf < first_spine ? leaf - hosts : 0;
      else if (node >= hosts)
        port = to < hosts && leaf == node ? to % down : down + (to >= first_spine ? to - first_spine : to % spines);
      config.routes[std::size_t{node} * config.nodes + to] = {static_cast<std::uint8_t>(port), 0};
    }
  return config;
}

}  // namespace thalweg::test
