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

  /// The entry of a node for another one.
  [[nodiscard]] RouteEntry entry(NodeId node, NodeId destination) const {
    const std::size_t tag = this->tag[destination];
    for (std::size_t d = 0; d < size.size(); node /= size[d], destination /= size[d], ++d)
      if (const unsigned own = node % size[d], target = destination % size[d]; own != target)
        return entries[d][(tag * size[d] + own) * size[d] + target];
    return {.port = kNoRoute};
  }
};

}  // namespace thalweg
