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
    unsigned port = 0;         ///< link port in the parent's direction
    unsigned parent_port = 0;  ///< the parent's link port in this node's direction
  };

  NodeId top = 0;
  std::vector<Branch> branches;  ///< each after its parent's
};

/// The tree over `members`; nodes between them are vertices where ways meet, at the top or below, if `available` says that
/// they may be. Where several nodes are in the middle, `turn` chooses one, so that trees spread over them.
[[nodiscard]] TopologyTree topology_tree(const Graph& graph, std::span<const NodeId> members,
                                         const std::function<bool(NodeId)>& available, unsigned turn);

}  // namespace thalweg::mpi_fpga
