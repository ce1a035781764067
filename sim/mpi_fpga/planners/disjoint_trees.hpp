// SPDX-License-Identifier: Apache-2.0
// The maximum number of spanning trees from a root that share no directed link.
#pragma once

#include <cstdint>
#include <vector>

namespace thalweg::mpi_fpga {

/// Vertices with numbered ports; every link joins two ports and carries both directions.
struct PortGraph {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct End {
    std::uint32_t vertex = kNone;  ///< kNone: the port has no link
    unsigned port = 0;
  };

  PortGraph(std::uint32_t vertices, unsigned ports) : vertices(vertices), ports(ports), peers(vertices * ports) {}

  [[nodiscard]] End& peer(std::uint32_t vertex, unsigned port) { return peers[vertex * ports + port]; }
  [[nodiscard]] const End& peer(std::uint32_t vertex, unsigned port) const { return peers[vertex * ports + port]; }

  std::uint32_t vertices;
  unsigned ports;
  std::vector<End> peers;
};

/// A spanning tree: per vertex the port towards the root; kRoot at the root.
using Parents = std::vector<std::uint8_t>;
inline constexpr std::uint8_t kRoot = 0xFF;
/// Number of links from the root to the farthest vertex.
[[nodiscard]] unsigned depth(const PortGraph& graph, const Parents& tree);

/// J. Edmonds, "Edge-disjoint branchings" (1973): the number of trees from a root is the smallest number of links that
/// separates it from some vertex. All trees grow together, nearest vertices first; a link is added only if the trees
/// can still be completed without it, which one flow to its head decides (L. Lovasz, "On two minimax theorems in
/// graph", 1976). The trees are shallow, and deterministic per graph.
[[nodiscard]] std::vector<Parents> disjoint_trees(const PortGraph& graph, std::uint32_t root);

}  // namespace thalweg::mpi_fpga
