#include "node/group.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "common/bits.hpp"
#include "node/collective_control.hpp"

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
    vertices_[from].row.used |= 1u << edge;
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

std::optional<Group> Group::make(const FabricConfig& config, const Graph& graph, std::span<const NodeId> members,
                                 const std::function<bool(NodeId)>& available, unsigned turn) {
  if (config.collective.trees == Trees::by_rank) return by_rank(members);
  return by_topology(members, topology_tree(graph, members, available, turn), config);
}

Group Group::by_rank(std::span<const NodeId> members) {
  Group group(members);
  const std::uint32_t ranks = group.ranks();
  for (std::uint32_t v = 0; v < ranks; ++v)
    for (unsigned k = 0; 1u << k < ranks; ++k) {
      const std::uint32_t bit = 1u << k;
      if (v & bit || v + bit >= ranks) continue;
      if (v & (bit - 1))
        group.join(v, k, v + bit, k);
      else
        group.hang(v, k, v + bit, k);
    }
  group.label_from(0);
  for (Vertex& vertex : group.vertices_) vertex.row.by_rank = true;
  (void)group.double_by_rank();  // all of its edges are there
  group.exchange_by_doubling();
  return group;
}

std::optional<Group> Group::by_topology(std::span<const NodeId> members, const TopologyTree& tree,
                                        const FabricConfig& config) {
  Group group(members);
  std::vector<std::uint32_t> vertex_of(config.nodes, kNoRank);
  for (std::uint32_t v = 0; v < group.ranks(); ++v) vertex_of[members[v]] = v;
  const auto vertex_at = [&](NodeId node) {
    if (vertex_of[node] == kNoRank) {
      vertex_of[node] = static_cast<std::uint32_t>(group.vertices_.size());
      group.vertices_.emplace_back().node = node;
    }
    return vertex_of[node];
  };
  group.ports_ = config.router.link_ports;
  for (const TopologyTree::Branch& branch : tree.branches) {
    const std::uint32_t parent = vertex_at(branch.parent), child = vertex_at(branch.node);
    const unsigned down = group.free_edge(parent, branch.parent_port), up = group.free_edge(child, branch.port);
    if (down == kMaxEdges || up == kMaxEdges) return std::nullopt;
    group.hang(parent, down, child, up);
  }
  group.label_from(vertex_at(tree.top));
  group.by_dimensions_ = group.exchange_by_dimensions(config.grid);
  group.doubles_ = group.double_by_rank();
  if (!group.by_dimensions_) {
    if (!group.doubles_) return std::nullopt;
    group.exchange_by_doubling();
  }
  const auto reaches = [&](NodeId from, NodeId to) { return config.routes[from * config.nodes + to].port != kNoRoute; };
  for (const Vertex& vertex : group.vertices_) {
    if (vertex.row.has_rank() && std::popcount(vertex.row.tree()) >= static_cast<int>(Program::kMaxProcesses))
      return std::nullopt;
    bool right = true;
    each_bit(vertex.row.used, [&](unsigned k) { right &= reaches(vertex.node, vertex.row.edges[k].neighbour); });
    if (!right) return std::nullopt;
  }
  return group;
}

unsigned Group::free_edge(std::uint32_t vertex, unsigned wanted) const {
  const std::uint32_t used = vertices_[vertex].row.used;
  if (wanted < kMaxEdges && !(used >> wanted & 1)) return wanted;
  const std::uint32_t links = ports_ < kMaxEdges ? (1u << ports_) - 1 : ~0u;
  const std::uint32_t beyond = ~used & ~links;
  return static_cast<unsigned>(std::countr_zero(beyond ? beyond : ~used));
}

bool Group::double_by_rank() {
  for (std::uint32_t v = 0; v < ranks(); ++v)
    for (unsigned k = 0; 1u << k < ranks(); ++k) {
      const std::uint32_t bit = 1u << k, other = v + bit;
      if (v & bit || other >= ranks()) continue;
      unsigned edge = k, there = k;
      if (!vertices_[v].row.by_rank) {
        edge = free_edge(v, kMaxEdges);
        there = free_edge(other, kMaxEdges);
        if (edge == kMaxEdges || there == kMaxEdges) {
          for (Vertex& vertex : vertices_) vertex.row.doubling = {};
          return false;
        }
        join(v, edge, other, there);
      }
      vertices_[v].row.doubling[k] = 1u << edge;
      vertices_[other].row.doubling[k] = 1u << there;
    }
  return true;
}

void Group::exchange_by_doubling() {
  const auto stages = static_cast<unsigned>(std::bit_width(ranks())) - 1;
  for (std::uint32_t v = 0; v < ranks(); ++v) {
    Row& row = vertices_[v].row;
    row.beyond = v >> stages & 1;
    row.fold = row.doubling[stages];
    row.stage_count = row.beyond ? 0 : stages;
    for (unsigned k = 0; k < row.stage_count; ++k)
      row.stages[k] = {.peers = row.doubling[k], .place = static_cast<std::uint8_t>(v >> k & 1)};
  }
}

/// A stage for each dimension in which the members differ, in the order of the dimensions: a group is what they hold of a
/// row of the grid.
bool Group::exchange_by_dimensions(std::span<const unsigned> grid) {
  std::vector<std::vector<std::uint32_t>> at(grid.size());  // each member's coordinates, as places among those in use
  std::uint32_t stride = 1, box = 1;
  for (std::size_t d = 0; d < grid.size(); stride *= grid[d++]) {
    std::vector<bool> in_use(grid[d]);
    for (std::uint32_t v = 0; v < ranks(); ++v) in_use[vertices_[v].node / stride % grid[d]] = true;
    for (std::uint32_t v = 0; v < ranks(); ++v) {
      const auto end = in_use.begin() + static_cast<std::ptrdiff_t>(vertices_[v].node / stride % grid[d]);
      at[d].push_back(static_cast<std::uint32_t>(std::count(in_use.begin(), end, true)));
    }
    box *= static_cast<std::uint32_t>(std::ranges::count(in_use, true));
  }
  if (grid.empty() || box != ranks()) return false;

  unsigned base = ports_;
  for (std::size_t d = 0; d < grid.size(); ++d) {
    const unsigned size = 1 + *std::ranges::max_element(at[d]);
    if (size == 1) continue;
    if (base + size - 1 > kMaxEdges) return false;
    base += size - 1;
  }
  const std::uint32_t new_edges = (base == kMaxEdges ? 0 : 1u << base) - (1u << ports_);
  for (const Vertex& vertex : vertices_)
    if (vertex.row.used & new_edges) return false;

  base = ports_;
  for (std::size_t d = 0; d < grid.size(); ++d) {
    const unsigned size = 1 + *std::ranges::max_element(at[d]);
    if (size == 1) continue;
    std::map<std::vector<std::uint32_t>, std::vector<std::uint32_t>> groups;  // by the other coordinates
    for (std::uint32_t v = 0; v < ranks(); ++v) {
      std::vector<std::uint32_t> others;
      for (std::size_t other = 0; other < grid.size(); ++other) others.push_back(other == d ? 0 : at[other][v]);
      auto& group = groups[others];
      group.resize(size);
      group[at[d][v]] = v;
    }
    for (const auto& [key, group] : groups)
      for (unsigned place = 0; place < size; ++place) {
        Row& row = vertices_[group[place]].row;
        row.stages[row.stage_count++] = {.peers = ((1u << (size - 1)) - 1) << base,
                                         .place = static_cast<std::uint8_t>(place)};
        for (unsigned other = place + 1; other < size; ++other)
          join(group[place], base + other - 1, group[other], base + place);
      }
    base += size - 1;
  }
  return true;
}

}  // namespace thalweg
