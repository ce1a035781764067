// SPDX-License-Identifier: Apache-2.0
#include "mpi_fpga/driver/group.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <numeric>

#include "common/bits.hpp"
#include "mpi_fpga/collective_control.hpp"
#include "mpi_fpga/planners/allreduce_trees.hpp"
#include "mpi_fpga/planners/disjoint_trees.hpp"
#include "mpi_fpga/planners/hamiltonian_rings.hpp"

namespace thalweg::mpi_fpga {

Group::Group(std::span<const NodeId> members)
    : vertices_(members.size()), label_(members.size()), rank_(members.size()) {
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    vertices_[rank].node = members[rank];
    vertices_[rank].row.rank = rank;
  }
}

void Group::join(std::uint32_t a, unsigned edge_a, std::uint32_t b, unsigned edge_b) {
  const auto end = [this](std::uint32_t from, unsigned edge, std::uint32_t to, unsigned peer_edge) {
    vertices_[from].peer[edge] = to;
    vertices_[from].row.used |= 1u << edge;
    vertices_[from].row.edges[edge] = {.neighbour = vertices_[to].node, .there = static_cast<std::uint8_t>(peer_edge)};
  };
  end(a, edge_a, b, edge_b);
  end(b, edge_b, a, edge_a);
}

void Group::attach_child(std::uint32_t a, unsigned edge_a, std::uint32_t b, unsigned edge_b) {
  join(a, edge_a, b, edge_b);
  vertices_[a].row.down |= 1u << edge_a;
  vertices_[b].row.up = 1u << edge_b;
}

void Group::label_from(std::uint32_t top) {
  std::vector<std::uint32_t> order{top};  // each vertex before its descendants
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
  const std::optional<Box> box = Box::of(members, config.grid);
  const bool alike = members.size() == config.nodes && box && torus(config, graph, members, *box);
  return by_topology(members, topology_tree(graph, members, available, turn, alike), config);
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
        group.attach_child(v, k, v + bit, k);
    }
  group.label_from(0);
  for (Vertex& vertex : group.vertices_) vertex.row.by_rank = true;
  (void)group.double_by_rank();  // all of its edges exist
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
    group.attach_child(parent, down, child, up);
  }
  group.label_from(vertex_at(tree.top));
  const std::optional<Box> box = Box::of(members, config.grid);
  group.by_dimensions_ = box && group.exchange_by_dimensions(*box);
  group.doubles_ = group.double_by_rank();
  if (!group.by_dimensions_) {
    if (!group.doubles_) return std::nullopt;
    group.exchange_by_doubling();
  }
  const auto reaches = [&](NodeId from, NodeId to) { return config.route(from, to).port != kNoRoute; };
  for (const Vertex& vertex : group.vertices_) {
    if (vertex.row.has_rank() && std::popcount(vertex.row.tree()) >= static_cast<int>(Program::kMaxProcesses))
      return std::nullopt;
    bool routable = true;
    each_bit(vertex.row.used, [&](unsigned k) { routable &= reaches(vertex.node, vertex.row.edges[k].neighbour); });
    if (!routable) return std::nullopt;
  }
  return group;
}

/// Links between members that are whole rows of a torus, by position in their box; nothing if they are not.
std::optional<PortGraph> Group::torus(const FabricConfig& config, const Graph& graph, std::span<const NodeId> members,
                                      const Box& box) {
  if (members.size() < 2 || graph.ports() > kMaxEdges) return std::nullopt;
  for (std::size_t d = 0; d < box.size.size(); ++d)
    if (box.size[d] != 1 && box.size[d] != config.grid[d]) return std::nullopt;
  std::vector<std::uint32_t> position(config.nodes, PortGraph::kNone);
  for (std::size_t rank = 0; rank < members.size(); ++rank) position[members[rank]] = box.position[rank];
  const auto direct = [&](NodeId from, unsigned port, NodeId to) { return config.route(from, to).port == port; };
  PortGraph links(static_cast<std::uint32_t>(members.size()), graph.ports());
  for (const NodeId node : members)
    for (unsigned port = 0; port < graph.ports(); ++port) {
      const Graph::End end = graph.peer(node, port);
      if (end.node == Graph::kNone || position[end.node] == PortGraph::kNone) continue;
      if (direct(node, port, end.node) && direct(end.node, end.port, node))
        links.peer(position[node], port) = {position[end.node], end.port};
    }
  for (std::uint32_t at = 0; at < links.vertices; ++at)
    for (unsigned port = 0; port < links.ports; ++port) {
      const PortGraph::End first = links.peer(0, port), end = links.peer(at, port);
      const bool none = first.vertex == PortGraph::kNone;
      if (none ? end.vertex != first.vertex : end.vertex != box.beyond(at, first.vertex) || end.port != first.port)
        return std::nullopt;  // not the same at all positions
    }
  return links;
}

std::vector<Group> Group::by_links(const FabricConfig& config, const Graph& graph, std::span<const NodeId> members) {
  const std::optional<Box> box = Box::of(members, config.grid);
  const std::optional<PortGraph> links = box ? torus(config, graph, members, *box) : std::nullopt;
  if (!links) return {};
  const std::vector<std::uint32_t> rank_at = box->rank_at();
  const auto shape = std::make_shared<const Box>(Box{box->size, {}});
  const auto branches = [&](const Parents& parents) {
    std::vector<Row::Branch> result(members.size());  // per position
    for (std::uint32_t at = 0; at < members.size(); ++at) {
      if (parents[at] == kRoot) continue;
      const PortGraph::End parent = links->peer(at, parents[at]);
      result[at].up = 1u << parents[at];
      result[parent.vertex].down |= 1u << parent.port;
    }
    return result;
  };
  std::vector<Group> groups;
  // Between two collective units a flit traverses two routers, two local ports and a slot.
  constexpr Tick units = 12;
  const Tick link = units + std::ranges::min(config.links, {}, &LinkConfig::latency).latency;
  const std::vector<Parents> trees = disjoint_trees(*links, 0),
                             allreduce = allreduce_trees(
                                 *links, trees,
                                 {.link = static_cast<unsigned>(link), .combine = config.collective.lane_latency});
  for (std::size_t i = 0; i < trees.size(); ++i) {
    const auto branch = std::make_shared<const std::vector<Row::Branch>>(branches(trees[i]));
    const auto middle = branches(allreduce[i]);
    const auto deepest = static_cast<std::uint32_t>(2 * link * depth(*links, allreduce[i]));
    Group& group = groups.emplace_back(Group(members));
    group.doubles_ = false;
    group.rank_ = rank_at;
    group.label_ = box->position;
    for (std::uint32_t rank = 0; rank < group.ranks(); ++rank) {
      const std::uint32_t at = box->position[rank];
      for (unsigned port = 0; port < links->ports; ++port)
        if (const PortGraph::End end = links->peer(at, port); end.vertex != PortGraph::kNone)
          group.join(rank, port, rank_at[end.vertex], end.port);
      Row& row = group.vertices_[rank].row;
      row.ranks = group.ranks();
      row.label = at;
      row.up = middle[at].up;
      row.down = middle[at].down;
      row.up_and_down = deepest;
      row.rooted = [branch, shape, at](std::uint32_t label) {
        return (*branch)[shape->beyond(at, shape->opposite(label))];
      };
    }
  }
  if (groups.size() < 2) groups.clear();  // no gain over the main tree
  return groups;
}

/// The ring of ranks in a given order, each with edges to the next and the previous one.
Group Group::ring(std::span<const NodeId> members, std::span<const std::uint32_t> order,
                  std::span<const RingEdges> edges) {
  Group group(members);
  const std::uint32_t ranks = group.ranks();
  group.doubles_ = false;
  for (std::uint32_t label = 0; label < ranks; ++label) {
    const std::uint32_t rank = order[label], next = (label + 1) % ranks;
    group.rank_[label] = rank;
    group.label_[rank] = label;
    group.join(rank, edges[label].out, order[next], edges[next].in);
  }
  for (std::uint32_t label = 0; label < ranks; ++label) {
    Row& row = group.vertices_[order[label]].row;
    row.ranks = ranks;
    row.label = label;
    const std::uint32_t next = row.next = 1u << edges[label].out, previous = row.previous = 1u << edges[label].in;
    // For allreduce, the ring is cut into a path from label 0 to the last label, with its top in the middle.
    const std::uint32_t middle = ranks / 2, ends = (label > 0 ? previous : 0) | (label + 1 < ranks ? next : 0);
    row.up = label < middle ? next : label > middle ? previous : 0;
    row.down = ends & ~row.up;
  }
  return group;
}

std::vector<Group> Group::by_rings(const FabricConfig& config, const Graph& graph, std::span<const NodeId> members) {
  const auto ranks = static_cast<std::uint32_t>(members.size());
  if (ranks < 2) return {};
  std::vector<Group> groups;
  std::vector<std::uint32_t> order(ranks);
  std::vector<RingEdges> edges(ranks);
  const auto add_both_directions = [&] {
    groups.push_back(ring(members, order, edges));
    std::ranges::reverse(order);
    std::ranges::reverse(edges);
    for (RingEdges& edge_pair : edges) std::swap(edge_pair.in, edge_pair.out);
    groups.push_back(ring(members, order, edges));
  };
  const bool by_links = config.collective.trees == Trees::by_topology;
  const std::optional<Box> box = by_links ? Box::of(members, config.grid) : std::nullopt;
  if (const auto links = box ? torus(config, graph, members, *box) : std::nullopt) {
    const std::vector<std::uint32_t> rank_at = box->rank_at();
    for (const RingPath& path : hamiltonian_rings(*links)) {
      for (std::uint32_t i = 0; i < ranks; ++i) {
        const PortGraph::End next = links->peer(path.vertices[i], path.ports[i]);
        order[i] = rank_at[path.vertices[i]];
        edges[i].out = path.ports[i];
        edges[(i + 1) % ranks].in = next.port;
      }
      add_both_directions();
    }
  }
  if (groups.empty()) {
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::fill(edges, RingEdges{.in = 0, .out = 1});
    add_both_directions();
  }
  return groups;
}

unsigned Group::free_edge(std::uint32_t vertex, unsigned preferred) const {
  const std::uint32_t used = vertices_[vertex].row.used;
  if (preferred < kMaxEdges && !(used >> preferred & 1)) return preferred;
  const std::uint32_t links = ports_ < kMaxEdges ? (1u << ports_) - 1 : ~0u;
  const std::uint32_t beyond = ~used & ~links;
  return static_cast<unsigned>(std::countr_zero(beyond ? beyond : ~used));
}

bool Group::double_by_rank() {
  for (std::uint32_t v = 0; v < ranks(); ++v)
    for (unsigned k = 0; 1u << k < ranks(); ++k) {
      const std::uint32_t bit = 1u << k, other = v + bit;
      if (v & bit || other >= ranks()) continue;
      unsigned edge = k, peer_edge = k;
      if (!vertices_[v].row.by_rank) {
        edge = free_edge(v, kMaxEdges);
        peer_edge = free_edge(other, kMaxEdges);
        if (edge == kMaxEdges || peer_edge == kMaxEdges) {
          for (Vertex& vertex : vertices_) vertex.row.doubling = {};
          return false;
        }
        join(v, edge, other, peer_edge);
      }
      vertices_[v].row.doubling[k] = 1u << edge;
      vertices_[other].row.doubling[k] = 1u << peer_edge;
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

/// One stage per dimension in which the members differ, in order of dimensions: a group is the members in one row of
/// the grid.
bool Group::exchange_by_dimensions(const Box& box) {
  unsigned base = ports_;
  for (std::size_t d = 0; d < box.size.size(); ++d) {
    const unsigned size = box.size[d];
    if (size == 1) continue;
    if (base + size - 1 > kMaxEdges) return false;
    base += size - 1;
  }
  const std::uint32_t new_edges = (base == kMaxEdges ? 0 : 1u << base) - (1u << ports_);
  for (const Vertex& vertex : vertices_)
    if (vertex.row.used & new_edges) return false;

  base = ports_;
  std::uint32_t stride = 1;
  for (std::size_t d = 0; d < box.size.size(); ++d) {
    const unsigned size = box.size[d];
    if (size == 1) continue;
    std::map<std::uint32_t, std::vector<std::uint32_t>> groups;  // by the row's first position
    for (std::uint32_t v = 0; v < ranks(); ++v) {
      const unsigned at = box.coordinate(box.position[v], d);
      auto& group = groups[box.position[v] - at * stride];
      group.resize(size);
      group[at] = v;
    }
    stride *= size;
    for (const auto& [key, group] : groups)
      for (unsigned position = 0; position < size; ++position) {
        Row& row = vertices_[group[position]].row;
        row.stages[row.stage_count++] = {.peers = ((1u << (size - 1)) - 1) << base,
                                         .place = static_cast<std::uint8_t>(position)};
        for (unsigned other = position + 1; other < size; ++other)
          join(group[position], base + other - 1, group[other], base + position);
      }
    base += size - 1;
  }
  return true;
}

}  // namespace thalweg::mpi_fpga
