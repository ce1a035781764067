// SPDX-License-Identifier: Apache-2.0
// Tori for tests: a small, independent alternative to the descriptions of cluster files.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "network/config.hpp"

namespace thalweg::test {

/// A k-ary n-cube, port 2d up and 2d+1 down in dimension d, routed in dimension order by the shorter direction (a tie
/// goes up from even coordinates and down from odd ones). Two route classes, the halves of the virtual channels: 0
/// until the packet is in its destination's half of the ring, 1 from there on.
inline NetworkConfig torus(const std::vector<unsigned>& sides) {
  NetworkConfig config;
  config.nodes = 1;
  for (const auto side : sides) config.nodes *= side;
  config.router.link_ports = static_cast<unsigned>(2 * sides.size());
  config.router.vc_mask = {{0b0011, 0b1100}, {0b0011, 0b1100}};

  NodeId stride = 1;
  for (unsigned d = 0; d < sides.size(); stride *= sides[d++])
    for (NodeId node = 0; node < config.nodes; ++node) {
      const NodeId x = node / stride % sides[d];
      const NodeId up = x + 1 < sides[d] ? node + stride : node - x * stride;
      config.links.push_back({.node_a = node, .node_b = up, .port_a = 2 * d, .port_b = 2 * d + 1});
    }

  config.routes.resize(std::size_t{config.nodes} * config.nodes);
  for (NodeId node = 0; node < config.nodes; ++node)
    for (NodeId to = 0; to < config.nodes; ++to) {
      stride = 1;
      for (unsigned d = 0; d < sides.size(); stride *= sides[d++]) {
        const unsigned k = sides[d], x = node / stride % k, y = to / stride % k, up = (y + k - x) % k;
        if (up == 0) continue;
        const bool goes_up = 2 * up < k || (2 * up == k && x % 2 == 0);
        const bool crosses = (2 * x < k) != (2 * y < k);
        config.routes[std::size_t{node} * config.nodes + to] = {static_cast<std::uint8_t>(2 * d + !goes_up),
                                                                static_cast<std::uint8_t>(!crosses)};
        break;
      }
    }
  return config;
}

}  // namespace thalweg::test
