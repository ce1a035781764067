// A communicator as the hosts' software knows it: all of its vertices, from which each node's row of the table is made.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "node/context_table.hpp"

namespace thalweg {

class Group {
 public:
  struct Vertex {
    NodeId node = 0;
    Row row;
    std::array<std::uint32_t, kMaxEdges> peer{};  ///< the vertex at the other end of each edge
  };

  Group() = default;

  /// The binomial tree in rank order, and recursive doubling: edge k joins the ranks v and v xor 2^k, where both exist; v has
  /// its parent on edge countr_zero(v). members[i] is the node of rank i.
  [[nodiscard]] static Group by_rank(std::span<const NodeId> members);

  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(label_.size()); }
  /// Vertex i is rank i; vertices without a rank come after them.
  [[nodiscard]] std::span<const Vertex> vertices() const { return vertices_; }
  [[nodiscard]] std::uint32_t label(std::uint32_t rank) const { return label_[rank]; }
  /// The rank of a label.
  [[nodiscard]] std::uint32_t rank(std::uint32_t label) const { return rank_[label]; }
  /// The vertex without an edge up.
  [[nodiscard]] std::uint32_t top() const { return top_; }

 private:
  /// Vertices without edges, one for each member.
  explicit Group(std::span<const NodeId> members);
  void join(std::uint32_t a, unsigned edge_a, std::uint32_t b, unsigned edge_b);
  /// Makes a an edge's end towards the top.
  void hang(std::uint32_t a, unsigned edge_a, std::uint32_t b, unsigned edge_b);
  /// Gives the labels, walking down from the top over the edges that were hung.
  void label_from(std::uint32_t top);

  std::vector<Vertex> vertices_;
  std::vector<std::uint32_t> label_;  ///< of each rank
  std::vector<std::uint32_t> rank_;   ///< of each label
  std::uint32_t top_ = 0;
};

}  // namespace thalweg
