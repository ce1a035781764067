// SPDX-License-Identifier: Apache-2.0
// The communicator table: a node's entry for each communicator of which it is a vertex.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/types.hpp"

namespace thalweg::mpi_fpga {

/// The header names an edge in 5 bits.
inline constexpr unsigned kMaxEdges = 32;
inline constexpr unsigned kRankBits = 16;
inline constexpr std::uint32_t kNoRank = ~std::uint32_t{0};

/// One communicator at one vertex of its tree: a node of a rank, or a node that only passes on what it gets.
///
/// The ranks have labels, numbers 0 .. ranks-1 in the order in which a walk down the tree meets them, over each vertex' edges
/// in ascending order. So what lies behind an edge is an interval of labels, and a row knows the way to all ranks from its
/// own edges alone. In the binomial tree in rank order, labels are ranks.
struct Row {
  struct Edge {
    NodeId neighbour = 0;
    std::uint8_t there = 0;               ///< the number that the neighbour has for this edge
    std::uint32_t first = 0, behind = 0;  ///< of an edge down: the labels [first, first + behind)
  };
  /// One stage of an exchange: a group of ranks in which each hands its partial result to all others.
  struct Stage {
    std::uint32_t peers = 0;  ///< edges to the others, ascending by their place in the group
    std::uint8_t place = 0;   ///< the rank's own
  };

  /// The vertex' edges, as bits, on the tree of one root.
  struct Branch {
    std::uint32_t up = 0, down = 0;
  };

  std::uint32_t ranks = 0;
  std::uint32_t rank = kNoRank;        ///< of the communicator
  std::uint32_t label = 0, below = 0;  ///< the labels of this vertex and what is below it: [label, label + below)
  std::uint32_t used = 0;              ///< edges, as bits
  std::uint32_t up = 0, down = 0;      ///< edges of the tree, as bits; there is no edge up at its top
  std::array<Edge, kMaxEdges> edges{};

  std::array<Stage, kRankBits> stages{};
  unsigned stage_count = 0;
  /// Edge, as a bit, to the rank whose number differs in bit k alone; 0 where there is none.
  std::array<std::uint32_t, kRankBits> doubling{};
  std::uint32_t fold = 0;  ///< edge, as a bit, to the rank whose part is folded in before the stages
  bool beyond = false;     ///< this rank takes no part in the stages: it is what is folded in

  /// Where each root has a tree of its own: for the root of every label. `up` and `down` are then of another one, for
  /// allreduce.
  std::shared_ptr<const std::vector<Branch>> rooted;
  std::uint32_t up_and_down = 0;  ///< cycles over the links of the longest way on that one
  /// Round a ring: edges, as bits. Each root's tree is the way round from it, labels are in the way's order.
  std::uint32_t previous = 0, next = 0;

  bool by_rank =
      false;  ///< all but the neighbours follows from rank and size: the binomial tree and recursive doubling

  [[nodiscard]] bool has_rank() const { return rank != kNoRank; }
  [[nodiscard]] std::uint32_t tree() const { return up | down; }
  [[nodiscard]] bool ring() const { return next != 0; }

  /// The tree's edge, as a bit, in the direction of a label; 0 where it is this vertex' own.
  [[nodiscard]] std::uint32_t towards(std::uint32_t other) const {
    if (rooted) return (*rooted)[other].up;
    if (ring()) return other == label ? 0 : previous;
    if (other - label >= below) return up;
    for (std::uint32_t rest = down; rest; rest &= rest - 1) {
      const Edge& edge = edges[static_cast<unsigned>(std::countr_zero(rest))];
      if (other - edge.first < edge.behind) return rest & -rest;
    }
    return 0;
  }
  /// The tree's other edges, as bits, as seen from a label.
  [[nodiscard]] std::uint32_t away_from(std::uint32_t other) const {
    if (rooted) return (*rooted)[other].down;
    if (ring()) return (label + 1) % ranks == other ? 0 : next;
    return tree() & ~towards(other);
  }
  /// The labels behind an edge of the tree, as a bit: their number, the first and the last one, modulo the ranks.
  [[nodiscard]] std::uint32_t behind(std::uint32_t edge) const {
    return edge == up ? ranks - below : edges[static_cast<unsigned>(std::countr_zero(edge))].behind;
  }
  [[nodiscard]] std::uint32_t first(std::uint32_t edge) const {
    return edge == up ? (label + below) % ranks : edges[static_cast<unsigned>(std::countr_zero(edge))].first;
  }
  [[nodiscard]] std::uint32_t last(std::uint32_t edge) const { return (first(edge) + behind(edge) - 1) % ranks; }

  /// Bits that loading the row takes. By rank: MPI-FPGA, Equation 1: log(R) neighbours, size and rank of log(R) bits each,
  /// and 8 bits of state. Else the two label bounds besides, and for each edge neighbour, number there and first label; and
  /// for each root with a tree of its own a bit per edge and the number of the one up, and 16 bits for the longest way.
  /// Round a ring, size, rank and label, and for each edge neighbour and number there.
  [[nodiscard]] unsigned bits() const {
    if (by_rank) return kRankBits * (kRankBits + 2) + 8;
    const auto count = static_cast<unsigned>(std::popcount(used));
    if (ring()) return 3 * kRankBits + 8 + count * (kRankBits + 5);
    if (rooted) return 4 * kRankBits + 8 + count * (kRankBits + 5) + ranks * (count + 5);
    return 4 * kRankBits + 8 + count * (2 * kRankBits + 5) + stage_count * (kMaxEdges + 5);
  }
};

}  // namespace thalweg::mpi_fpga
