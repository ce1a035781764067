// The communicator table: what a node knows of each communicator that it belongs to.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "core/types.hpp"

namespace thalweg {

/// Ranks are numbered in 16 bits, so a rank has at most 16 neighbours.
inline constexpr unsigned kMaxEdges = 16;
inline constexpr unsigned kRankBits = 16;

/// Bits of a row (MPI-FPGA, Equation 1): log(R) neighbours, size and rank of log(R) bits each, and 8 bits of state.
inline constexpr unsigned kRowBits = kRankBits * (kRankBits + 2) + 8;

/// One communicator at one node. Edge k joins the ranks v and v xor 2^k, where both exist; both ends call it k.
/// The edges of the binomial tree are among them: rank v has its parent on edge countr_zero(v), its children below it.
struct Row {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;
  std::array<NodeId, kMaxEdges> neighbour{};

  [[nodiscard]] unsigned edge_count() const { return static_cast<unsigned>(std::bit_width(ranks - 1)); }
  [[nodiscard]] std::uint32_t peer(unsigned edge) const { return rank ^ (1u << edge); }
  [[nodiscard]] bool has_edge(unsigned edge) const { return edge < edge_count() && peer(edge) < ranks; }
};

}  // namespace thalweg
