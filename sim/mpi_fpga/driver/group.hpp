// SPDX-License-Identifier: Apache-2.0
// A communicator as known by the hosts' software: all of its vertices, from which each node's table row is made.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "mpi_fpga/config.hpp"
#include "mpi_fpga/context_table.hpp"
#include "mpi_fpga/planners/box.hpp"
#include "mpi_fpga/planners/disjoint_trees.hpp"
#include "mpi_fpga/planners/topology_tree.hpp"

namespace thalweg::mpi_fpga {

class Group {
 public:
  struct Vertex {
    NodeId node = 0;
    Row row;
    std::array<std::uint32_t, kMaxEdges> peer{};  ///< vertex at the far end of each edge
  };

  Group() = default;

  /// Builds the vertices and edges over `members` as configured. `available`: a node without a rank may be a vertex;
  /// `turn` distributes trees over equally good choices. Nothing if rows cannot hold them.
  [[nodiscard]] static std::optional<Group> make(const FabricConfig& config, const Graph& graph,
                                                 std::span<const NodeId> members,
                                                 const std::function<bool(NodeId)>& available, unsigned turn);

  /// The binomial tree in rank order, and recursive doubling: edge k joins ranks v and v xor 2^k, if both exist; v has
  /// its parent on edge countr_zero(v). members[i] is the node of rank i.
  [[nodiscard]] static Group by_rank(std::span<const NodeId> members);

  /// A tree of links (mpi_fpga/planners/topology_tree.hpp); an exchange by dimensions if the members form a box of the
  /// grid, else recursive doubling. Nothing if a node would have more edges than a row holds, or if there is no route.
  [[nodiscard]] static std::optional<Group> by_topology(std::span<const NodeId> members, const TopologyTree& tree,
                                                        const FabricConfig& config);

  /// The communicator's additional rows, each with edges between neighbours and one tree per rank as root, by label:
  /// for the same root, the trees of two rows share no link in the same direction. If the members are whole rows of a
  /// torus, in some or all of its dimensions: as many rows as a node has links in these. Otherwise none.
  [[nodiscard]] static std::vector<Group> by_links(const FabricConfig& config, const Graph& graph,
                                                   std::span<const NodeId> members);
  /// Rows for rings through all ranks, one per direction, labels in ring order. If trees follow the links and the
  /// members are whole rows of a torus as above: as many rings as dimensions, which together use every link once in
  /// each direction. Otherwise, or if none are found, the ring in rank order. None for one rank.
  [[nodiscard]] static std::vector<Group> by_rings(const FabricConfig& config, const Graph& graph,
                                                   std::span<const NodeId> members);

  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(label_.size()); }
  /// Vertex i is rank i; vertices without a rank follow.
  [[nodiscard]] std::span<const Vertex> vertices() const { return vertices_; }
  [[nodiscard]] std::uint32_t label(std::uint32_t rank) const { return label_[rank]; }
  /// Rank of a label.
  [[nodiscard]] std::uint32_t rank(std::uint32_t label) const { return rank_[label]; }
  /// True if its exchange proceeds by dimensions; else it is recursive doubling over rank numbers.
  [[nodiscard]] bool by_dimensions() const { return by_dimensions_; }
  /// True if edges exist between ranks whose numbers differ in one bit.
  [[nodiscard]] bool doubles() const { return doubles_; }

 private:
  /// Creates one vertex per member, without edges.
  explicit Group(std::span<const NodeId> members);
  void join(std::uint32_t a, unsigned edge_a, std::uint32_t b, unsigned edge_b);
  /// Joins a and b by a tree edge, with a as the parent.
  void attach_child(std::uint32_t a, unsigned edge_a, std::uint32_t b, unsigned edge_b);
  /// Index for another edge of a vertex: `preferred` if free, else preferably not that of a link port; kMaxEdges: none
  /// is free.
  [[nodiscard]] unsigned free_edge(std::uint32_t vertex, unsigned preferred) const;
  /// Adds edges between ranks whose numbers differ in one bit; by rank, they include the tree's. False if a row has no
  /// room.
  [[nodiscard]] bool double_by_rank();
  void exchange_by_doubling();
  [[nodiscard]] bool exchange_by_dimensions(const Box& box);
  [[nodiscard]] static std::optional<PortGraph> torus(const FabricConfig& config, const Graph& graph,
                                                      std::span<const NodeId> members, const Box& box);
  /// A rank's edges on a ring.
  struct RingEdges {
    unsigned in = 0, out = 0;
  };
  [[nodiscard]] static Group ring(std::span<const NodeId> members, std::span<const std::uint32_t> order,
                                  std::span<const RingEdges> edges);
  /// Assigns the labels by a walk down the tree edges from the top.
  void label_from(std::uint32_t top);

  std::vector<Vertex> vertices_;
  std::vector<std::uint32_t> label_;  ///< per rank
  std::vector<std::uint32_t> rank_;   ///< per label
  unsigned ports_ = 0;                ///< link ports of a node, whose indices tree edges have
  bool by_dimensions_ = false, doubles_ = true;
};

}  // namespace thalweg::mpi_fpga
