// SPDX-License-Identifier: Apache-2.0
// The communicator table: a node's row for each communicator of which it is a vertex.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>

#include "common/growing.hpp"
#include "core/types.hpp"

namespace thalweg::mpi_fpga {

/// The header names an edge in 5 bits.
inline constexpr unsigned kMaxEdges = 32;
inline constexpr unsigned kRankBits = 16;
inline constexpr std::uint32_t kNoRank = ~std::uint32_t{0};

/// One communicator at one vertex of its tree: the node of a rank, or a node that only forwards.
///
/// The ranks have labels, numbers 0 .. ranks-1 in the order of a walk down the tree, over each vertex's edges in
/// ascending order. The ranks behind an edge are thus an interval of labels, and a row gives the path to all ranks from
/// its own edges alone. In the binomial tree in rank order, labels are ranks.
struct Row {
  struct Edge {
    NodeId neighbour = 0;
    std::uint8_t there = 0;               ///< index of this edge at the neighbour
    std::uint32_t first = 0, behind = 0;  ///< of a down edge: the labels [first, first + behind)
  };
  /// One stage of an exchange: each rank of a group sends its partial result to all others.
  struct Stage {
    std::uint32_t peers = 0;  ///< edges to the others, ascending by index in the group
    std::uint8_t place = 0;   ///< index of this rank
  };

  /// The vertex's edges, as bits, on the tree of one root.
  struct Branch {
    std::uint32_t up = 0, down = 0;
  };

  std::uint32_t ranks = 0;
  std::uint32_t rank = kNoRank;        ///< rank in the communicator
  std::uint32_t label = 0, below = 0;  ///< labels of this vertex and its subtree: [label, label + below)
  std::uint32_t used = 0;              ///< edges in use, as bits
  std::uint32_t up = 0, down = 0;      ///< tree edges, as bits; no up edge at the top
  Growing<Edge> edges;                 ///< kMaxEdges at most

  Growing<Stage> stages;  ///< kRankBits at most
  unsigned stage_count = 0;
  /// Edge, as a bit, to the rank whose number differs in bit k alone; 0: none.
  Growing<std::uint32_t> doubling;
  std::uint32_t fold = 0;  ///< edge, as a bit, to the rank whose operand is folded in before the stages
  bool beyond = false;     ///< this rank takes no part in the stages: its operand is folded in

  /// If each root has its own tree: the branches by the root's label. `up` and `down` then belong to another tree, for
  /// allreduce.
  std::function<Branch(std::uint32_t label)> rooted;
  std::uint32_t up_and_down = 0;  ///< cycles over the links of the longest path on that tree
  /// Ring: edges, as bits. Each root's tree is the path round from it; labels follow the ring.
  std::uint32_t previous = 0, next = 0;

  bool by_rank = false;  ///< all but the neighbours follows from rank and size: binomial tree, recursive doubling

  [[nodiscard]] bool has_rank() const { return rank != kNoRank; }
  [[nodiscard]] std::uint32_t tree() const { return up | down; }
  [[nodiscard]] bool ring() const { return next != 0; }

  /// Tree edge, as a bit, towards a label; 0 for this vertex's own.
  [[nodiscard]] std::uint32_t towards(std::uint32_t other) const {
    if (rooted) return rooted(other).up;
    if (ring()) return other == label ? 0 : previous;
    if (other - label >= below) return up;
    for (std::uint32_t rest = down; rest; rest &= rest - 1) {
      const Edge& edge = edges[static_cast<unsigned>(std::countr_zero(rest))];
      if (other - edge.first < edge.behind) return rest & -rest;
    }
    return 0;
  }
  /// The other tree edges, as bits: those away from a label.
  [[nodiscard]] std::uint32_t away_from(std::uint32_t other) const {
    if (rooted) return rooted(other).down;
    if (ring()) return (label + 1) % ranks == other ? 0 : next;
    return tree() & ~towards(other);
  }
  /// The labels behind a tree edge (a bit): their number, the first, and the last, modulo ranks.
  [[nodiscard]] std::uint32_t behind(std::uint32_t edge) const {
    return edge == up ? ranks - below : edges[static_cast<unsigned>(std::countr_zero(edge))].behind;
  }
  [[nodiscard]] std::uint32_t first(std::uint32_t edge) const {
    return edge == up ? (label + below) % ranks : edges[static_cast<unsigned>(std::countr_zero(edge))].first;
  }
  [[nodiscard]] std::uint32_t last(std::uint32_t edge) const { return (first(edge) + behind(edge) - 1) % ranks; }

  /// Bits transferred to load the row. By rank: MPI-FPGA, Equation 1: log(R) neighbours, size and rank of log(R) bits
  /// each, and 8 bits of state. Otherwise also the two label bounds, per edge the neighbour, its index there and the
  /// first label; and with a tree per root, for each root one bit per edge and the index of its up edge, and 16 bits
  /// for the longest path. Ring: size, rank and label, and per edge the neighbour and its index there.
  [[nodiscard]] unsigned bits() const {
    if (by_rank) return kRankBits * (kRankBits + 2) + 8;
    const auto count = static_cast<unsigned>(std::popcount(used));
    if (ring()) return 3 * kRankBits + 8 + count * (kRankBits + 5);
    if (rooted) return 4 * kRankBits + 8 + count * (kRankBits + 5) + ranks * (count + 5);
    return 4 * kRankBits + 8 + count * (2 * kRankBits + 5) + stage_count * (kMaxEdges + 5);
  }
};

}  // namespace thalweg::mpi_fpga
