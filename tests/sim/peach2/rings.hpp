// SPDX-License-Identifier: Apache-2.0
// Rings of hubs, and their windows' destinations.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "peach2/driver/fabric.hpp"

namespace thalweg::peach2 {

inline constexpr std::uint32_t kAllPages = (1U << (kAddressBits - kPageBits)) - 1;

/// The windows of nodes `first` to `last`, for one port.
[[nodiscard]] inline Window of_nodes(unsigned to, unsigned first, unsigned last) {
  const unsigned shift = kNodeShift - kPageBits;
  return {true, to, kAllPages, first << shift, ((last + 1) << shift) - 1};
}

[[nodiscard]] inline unsigned goes_to(const std::vector<Window>& table, unsigned node, std::uint32_t page) {
  if (page >> (kBaseShift - kPageBits) == base_of(node)) return kBus;
  for (const auto& window : table)
    if (window.has(page)) return window.to;
  return kPorts;
}

/// One ring of `nodes` nodes, each one's east connected to the next one's west, or two such rings, connected by their
/// souths.
[[nodiscard]] inline Wiring rings(unsigned count, unsigned nodes) {
  Wiring wiring(count * nodes);
  for (unsigned ring = 0; ring < count; ++ring)
    for (unsigned i = 0; i < nodes; ++i) {
      const unsigned node = ring * nodes + i, next = ring * nodes + (i + 1) % nodes;
      if (nodes > 1) {
        wiring[node][kEast] = PortOf{next, kWest};
        wiring[next][kWest] = PortOf{node, kEast};
      }
      if (count == 2) wiring[node][kSouth] = PortOf{(node + nodes) % (2 * nodes), kSouth};
    }
  return wiring;
}

/// The windows that route from every node to every other one, never through a ring's node 0
/// (thalweg.systems.peach2.routes).
[[nodiscard]] inline Tables windows_of_rings(unsigned count, unsigned nodes) {
  Tables tables(count * nodes);
  for (unsigned node = 0; node < count * nodes; ++node) {
    const unsigned i = node % nodes, first = node - i;
    auto& table = tables[node];
    const auto add = [&](unsigned to, unsigned from, unsigned until) {
      if (from < until) table.push_back(of_nodes(to, from, until - 1));
    };
    add(kNorth, node, node + 1);
    if (count == 2) add(kSouth, nodes - first, 2 * nodes - first);
    if (i == 0) {
      add(kEast, first + 1, first + nodes / 2 + 1);
      add(kWest, first + nodes / 2 + 1, first + nodes);
    } else {
      add(nodes - i < i ? kEast : kWest, first, first + 1);
      add(kWest, first + 1, node);
      add(kEast, node + 1, first + nodes);
    }
  }
  return tables;
}

/// The ports that a packet for a page passes from a node on, the last one the host's or the bus's; without that if the
/// packet is refused on the way.
[[nodiscard]] inline std::vector<PortOf> way(const Wiring& wiring, const Tables& tables, unsigned from,
                                             std::uint32_t page) {
  std::vector<PortOf> ports;
  unsigned node = from, came = kPorts;
  for (;;) {
    const unsigned to = goes_to(tables[node], node, page);
    if (to > kBus || to == came) return ports;
    ports.push_back({node, to});
    if (to == kBus || to == kNorth || !wiring[node][to]) return ports;
    const PortOf next = *wiring[node][to];
    // No port twice: more ports than exist mean a loop.
    if (ports.size() > wiring.size() * kLinks) return ports;
    node = next.node;
    came = next.port;
  }
}

}  // namespace thalweg::peach2
