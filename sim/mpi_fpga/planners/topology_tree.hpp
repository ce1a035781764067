// SPDX-License-Identifier: Apache-2.0
// A tree of links over the nodes of some ranks: shortest paths from a central node.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "network/graph.hpp"

namespace thalweg::mpi_fpga {

struct TopologyTree {
  struct Branch {
    NodeId node = 0, parent = 0;
    unsigned port = 0;         ///< link port towards the parent
    unsigned parent_port = 0;  ///< the parent's link port towards this node
  };

  NodeId top = 0;
  std::vector<Branch> branches;  ///< each after its parent
};

/// Builds the tree over `members`. Other nodes are vertices where paths meet or at the top, if `available` permits. If
/// several nodes are central, `turn` selects one, which distributes trees over them. `alike`: all nodes are members, and
/// the graph looks the same from each of them, so that all are central.
[[nodiscard]] TopologyTree topology_tree(const Graph& graph, std::span<const NodeId> members,
                                         const std::function<bool(NodeId)>& available, unsigned turn,
                                         bool alike = false);

}  // namespace thalweg::mpi_fpga
