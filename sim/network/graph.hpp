// SPDX-License-Identifier: Apache-2.0
// The graph of a fabric's links.
#pragma once

#include <span>
#include <vector>

#include "network/config.hpp"
#include "switch/route.hpp"

namespace thalweg {

class Graph {
 public:
  struct End {
    NodeId node = kNone;
    unsigned port = 0;
  };
  static constexpr NodeId kNone = ~NodeId{0};
  static constexpr std::uint16_t kFar = 0xFFFF;  ///< distance: unreachable

  explicit Graph(const NetworkConfig& config);

  [[nodiscard]] unsigned nodes() const { return nodes_; }
  [[nodiscard]] unsigned ports() const { return ports_; }
  /// The far end of a port's link; node kNone if it has none.
  [[nodiscard]] End peer(NodeId node, unsigned port) const { return peers_[std::size_t{node} * ports_ + port]; }
  /// Hop counts from a node to each node.
  [[nodiscard]] std::span<const std::uint16_t> distances(NodeId from) const;

 private:
  unsigned nodes_, ports_;
  std::vector<End> peers_;
  mutable std::vector<std::vector<std::uint16_t>> distances_;  ///< per node, computed on demand
};

/// A node's routes in a checked configuration, of which `graph` has the links.
[[nodiscard]] RouteRow routes_of(const NetworkConfig& config, const Graph& graph, NodeId node);

}  // namespace thalweg
