// SPDX-License-Identifier: Apache-2.0
// A communicator as the hosts' software knows it: all of its vertices, from which each node's row of the table is made.
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
    std::array<std::uint32_t, kMaxEdges> peer{};  ///< the vertex at the other end of each edge
  };

  Group() = default;

  /// The vertices and edges over some members, as the configuration wants them. `available`: a node without a rank may be a
  /// vertex; `turn` spreads trees over what is equally good. Nothing where rows cannot hold them.
  [[nodiscard]] static std::optional<Group> make(const FabricConfig& config, const Graph& graph,
                                                 std::span<const NodeId> members,
                                                 const std::function<bool(NodeId)>& available, unsigned turn);

  /// The binomial tree in rank order, and recursive doubling: edge k joins the ranks v and v xor 2^k, where both exist; v has
  /// its parent on edge countr_zero(v). members[i] is the node of rank i.
  [[nodiscard]] static Group by_rank(std::span<const NodeId> members);

  /// A tree of links (mpi_fpga/planners/topology_tree.hpp); an exchange by dimensions where the members form a box of the grid, else
  /// recursive doubling. Nothing where a node would have more edges than a row holds, or where there is no route.
  [[nodiscard]] static std::optional<Group> by_topology(std::span<const NodeId> members, const TopologyTree& tree,
                                                        const FabricConfig& config);

  /// The communicator's further rows, all with edges between neighbours and a tree for each rank as root, label by label: of
  /// one root, no two rows' trees share a link in the same direction. Where the members are whole rows of a torus, in
  /// all of its dimensions or some: as many as a node has links in these. Else none.
  [[nodiscard]] static std::vector<Group> by_links(const FabricConfig& config, const Graph& graph,
                                                   std::span<const NodeId> members);
  /// Rows for rings through all ranks, one for each way round, labels in the order of the way. Where trees follow the links and
  /// the members are whole rows of a torus as above: as many rings as dimensions, which together use every link once each way.
  /// Else, or where none are found, the one that ranks form by their numbers. None for one rank.
  [[nodiscard]] static std::vector<Group> by_rings(const FabricConfig& config, const Graph& graph,
                                                   std::span<const NodeId> members);

  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(label_.size()); }
  /// Vertex i is rank i; vertices without a rank come after them.
  [[nodiscard]] std::span<const Vertex> vertices() const { return vertices_; }
  [[nodiscard]] std::uint32_t label(std::uint32_t rank) const { return label_[rank]; }
  /// The rank of a label.
  [[nodiscard]] std::uint32_t rank(std::uint32_t label) const { return rank_[label]; }
  /// Its exchange goes by dimensions; else it is recursive doubling over the ranks' numbers.
  [[nodiscard]] bool by_dimensions() const { return by_dimensions_; }
  /// There are edges between ranks whose numbers differ in one bit.
  [[nodiscard]] bool doubles() const { return doubles_; }

 private:
  /// Vertices without edges, one for each member.
  explicit Group(std::span<const NodeId> members);
  void join(std::uint32_t a, unsigned edge_a, std::uint32_t b, unsigned edge_b);
  /// Makes a an edge's end towards the top.
  void hang(std::uint32_t a, unsigned edge_a, std::uint32_t b, unsigned edge_b);
  /// A number for another edge of a vertex: `wanted` if it is free, else best none of a link port; kMaxEdges: none is free.
  [[nodiscard]] unsigned free_edge(std::uint32_t vertex, unsigned wanted) const;
  /// Edges between ranks whose numbers differ in one bit; by rank, the tree's are among them. False: a row has no room.
  [[nodiscard]] bool double_by_rank();
  void exchange_by_doubling();
  [[nodiscard]] bool exchange_by_dimensions(const Box& box);
  [[nodiscard]] static std::optional<PortGraph> torus(const FabricConfig& config, const Graph& graph,
                                                      std::span<const NodeId> members, const Box& box);
  /// A rank's edges on a ring.
  struct Way {
    unsigned in = 0, out = 0;
  };
  [[nodiscard]] static Group round(std::span<const NodeId> members, std::span<const std::uint32_t> order,
                                   std::span<const Way> ways);
  /// Gives the labels, walking down from the top over the edges that were hung.
  void label_from(std::uint32_t top);

  std::vector<Vertex> vertices_;
  std::vector<std::uint32_t> label_;  ///< of each rank
  std::vector<std::uint32_t> rank_;   ///< of each label
  unsigned ports_ = 0;                ///< link ports of a node: edges of the tree have their numbers
  bool by_dimensions_ = false, doubles_ = true;
};

}  // namespace thalweg::mpi_fpga
