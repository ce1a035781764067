// SPDX-License-Identifier: Apache-2.0
// Maps a communicator's ranks to nodes. One rank per node, the parent, represents the node in the network.
#pragma once

#include <cstdint>
#include <vector>

#include "core/types.hpp"

namespace thalweg::mpi {

class RankMap {
 public:
  RankMap() = default;
  /// nodes[i] is the node of rank i.
  explicit RankMap(std::vector<NodeId> nodes);

  /// The node of each rank.
  [[nodiscard]] const std::vector<NodeId>& nodes() const { return nodes_; }
  /// The distinct nodes, in order of their lowest ranks: the members of the communicator in the network.
  [[nodiscard]] const std::vector<NodeId>& hosts() const { return hosts_; }
  /// Index of a rank's node in hosts().
  [[nodiscard]] std::uint32_t host_of(std::uint32_t rank) const { return host_of_[rank]; }
  /// The ranks on a host, ascending; the first one is the parent.
  [[nodiscard]] const std::vector<std::uint32_t>& ranks_on(std::uint32_t host) const { return ranks_on_[host]; }
  [[nodiscard]] std::uint32_t parent(std::uint32_t host) const { return ranks_on_[host].front(); }

  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(nodes_.size()); }
  /// True if a node has several ranks.
  [[nodiscard]] bool shared() const { return hosts_.size() < nodes_.size(); }
  /// True if all nodes have the same number of ranks.
  [[nodiscard]] bool even() const { return even_; }
  /// True if each host's ranks are consecutive, in the order of hosts().
  [[nodiscard]] bool in_order() const { return in_order_; }

 private:
  std::vector<NodeId> nodes_, hosts_;
  std::vector<std::uint32_t> host_of_;
  std::vector<std::vector<std::uint32_t>> ranks_on_;
  bool even_ = true, in_order_ = true;
};

}  // namespace thalweg::mpi
