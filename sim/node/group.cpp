#include "node/group.hpp"

#include <bit>

#include "common/bits.hpp"

namespace thalweg {

Group::Group(std::span<const NodeId> members)
    : vertices_(members.size()), label_(members.size()), rank_(members.size()) {
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    vertices_[rank].node = members[rank];
    vertices_[rank].row.rank = rank;
  }
}

void Group::join(std::uint32_t a, unsigned edge_a, std::uint32_t b, unsigned edge_b) {
  const auto end = [this](std::uint32_t from, unsigned edge, std::uint32_t to, unsigned there) {
    vertices_[from].peer[edge] = to;
    vertices_[from].row.edges[edge] = {.neighbour = vertices_[to].node, .there = static_cast<std::uint8_t>(there)};
  };
  end(a, edge_a, b, edge_b);
  end(b, edge_b, a, edge_a);
}

void Group::hang(std::uint32_t a, unsigned edge_a, std::uint32_t b, unsigned edge_b) {
  join(a, edge_a, b, edge_b);
  vertices_[a].row.down |= 1u << edge_a;
  vertices_[b].row.up = 1u << edge_b;
}

void Group::label_from(std::uint32_t top) {
  top_ = top;
  std::vector<std::uint32_t> order{top};  // each vertex before what is below it
  for (std::size_t i = 0; i < order.size(); ++i)
    each_bit(vertices_[order[i]].row.down, [&](unsigned k) { order.push_back(vertices_[order[i]].peer[k]); });
  for (auto v = order.rbegin(); v != order.rend(); ++v) {
    Row& row = vertices_[*v].row;
    row.ranks = ranks();
    row.below += row.has_rank();
    if (row.up) vertices_[vertices_[*v].peer[static_cast<unsigned>(std::countr_zero(row.up))]].row.below += row.below;
  }
  for (const std::uint32_t v : order) {
    Row& row = vertices_[v].row;
    if (row.has_rank()) {
      label_[row.rank] = row.label;
      rank_[row.label] = row.rank;
    }
    std::uint32_t next = row.label + row.has_rank();
    each_bit(row.down, [&](unsigned k) {
      Row& child = vertices_[vertices_[v].peer[k]].row;
      child.label = row.edges[k].first = next;
      row.edges[k].behind = child.below;
      next += child.below;
    });
  }
}

Group Group::by_rank(std::span<const NodeId> members) {
  Group group(members);
  const std::uint32_t ranks = group.ranks();
  const auto stages = static_cast<unsigned>(std::bit_width(ranks)) - 1;
  for (std::uint32_t v = 0; v < ranks; ++v) {
    Row& row = group.vertices_[v].row;
    row.by_rank = true;
    row.beyond = v >> stages & 1;
    row.stage_count = row.beyond ? 0 : stages;
    for (unsigned k = 0; 1u << k < ranks; ++k) {
      const std::uint32_t bit = 1u << k, other = v ^ bit;
      if (other >= ranks) continue;
      row.doubling[k] = bit;
      if (k == stages)
        row.fold = bit;
      else
        row.stages[k] = {.peers = bit, .place = static_cast<std::uint8_t>(v >> k & 1)};
      if (other < v) continue;
      if (v & (bit - 1))
        group.join(v, k, other, k);
      else
        group.hang(v, k, other, k);
    }
  }
  group.label_from(0);
  return group;
}

}  // namespace thalweg
