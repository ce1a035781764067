// SPDX-License-Identifier: Apache-2.0
// Routes of a grid by dimension, in place of an entry for each pair of nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/types.hpp"
#include "switch/router_config.hpp"

namespace thalweg {

/// A packet crosses the first dimension in which its node and its destination differ. Its route there depends on both
/// coordinates in this dimension, and on a tag of its destination.
struct GridRoutes {
  std::vector<unsigned> size;                    ///< nodes per dimension, the first one fastest
  std::vector<std::vector<RouteEntry>> entries;  ///< per dimension: [tag][own coordinate][destination's coordinate]
  std::vector<std::uint8_t> tag;                 ///< per node
  std::vector<unsigned> coordinates;             ///< [node][dimension], by locate()

  void locate(std::size_t nodes) {
    coordinates.clear();
    for (std::size_t node = 0; node < nodes; ++node)
      for (std::size_t rest = node, d = 0; d < size.size(); rest /= size[d++])
        coordinates.push_back(static_cast<unsigned>(rest % size[d]));
  }
  /// The entry of a node for another one.
  [[nodiscard]] RouteEntry entry(NodeId node, NodeId destination) const {
    const unsigned* const own = &coordinates[node * size.size()];
    const unsigned* const target = &coordinates[destination * size.size()];
    for (std::size_t d = 0; d < size.size(); ++d)
      if (own[d] != target[d]) return entries[d][(tag[destination] * size[d] + own[d]) * size[d] + target[d]];
    return {.port = kNoRoute};
  }
};

}  // namespace thalweg
