// SPDX-License-Identifier: Apache-2.0
#include "mpi_fpga/planners/topology_tree.hpp"

#include <algorithm>
#include <tuple>

namespace thalweg::mpi_fpga {
namespace {

/// The nodes with the least distance to their farthest member and, of these, the least sum of distances to all members.
std::vector<NodeId> middle(const Graph& graph, std::span<const NodeId> members) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> cost(graph.nodes());
  for (const NodeId member : members) {
    const auto distances = graph.distances(member);
    for (NodeId node = 0; node < graph.nodes(); ++node) {
      cost[node].first = std::max<std::uint32_t>(cost[node].first, distances[node]);
      cost[node].second += distances[node];
    }
  }
  const auto least = *std::ranges::min_element(cost);
  std::vector<NodeId> result;
  for (NodeId node = 0; node < graph.nodes(); ++node)
    if (cost[node] == least) result.push_back(node);
  return result;
}

struct Vertex {
  bool member = false;
  TopologyTree::Branch branch;
  std::vector<NodeId> children;
};

/// Removes a vertex from the tree: its children move to its parent or, if it was the top, to the first child.
void splice(std::vector<Vertex>& vertices, NodeId node, NodeId& top) {
  Vertex& out = vertices[node];
  NodeId onto = out.branch.parent;
  unsigned port = out.branch.parent_port;
  if (node == top) {
    onto = top = out.children.front();
    port = vertices[onto].branch.port;
  } else {
    std::erase(vertices[onto].children, node);
  }
  for (const NodeId child : out.children) {
    if (child == onto) continue;
    vertices[child].branch.parent = onto;
    vertices[child].branch.parent_port = port;
    vertices[onto].children.push_back(child);
  }
  out.children.clear();
}

}  // namespace

TopologyTree topology_tree(const Graph& graph, std::span<const NodeId> members,
                           const std::function<bool(NodeId)>& available, unsigned turn, bool alike) {
  std::vector<NodeId> tops;
  if (!alike) tops = middle(graph, members);
  NodeId top = alike ? turn % graph.nodes() : tops[turn % tops.size()];
  const auto distance = graph.distances(top);

  std::vector<Vertex> vertices(graph.nodes());
  std::vector<NodeId> nearest_first(graph.nodes());
  for (NodeId node = 0; node < graph.nodes(); ++node) nearest_first[node] = node;
  std::ranges::stable_sort(nearest_first, {}, [&](NodeId node) { return distance[node]; });
  for (const NodeId member : members) vertices[member].member = true;
  for (auto node = nearest_first.rbegin(); node != nearest_first.rend(); ++node) {
    Vertex& vertex = vertices[*node];
    if (*node == top || (!vertex.member && vertex.children.empty())) continue;
    unsigned port = 0;
    while (graph.peer(*node, port).node == Graph::kNone ||
           distance[graph.peer(*node, port).node] + 1 != distance[*node])
      ++port;
    const Graph::End parent = graph.peer(*node, port);
    vertex.branch = {*node, parent.node, port, parent.port};
    vertices[parent.node].children.push_back(*node);
  }
  for (const NodeId node : nearest_first) {
    const Vertex& vertex = vertices[node];
    if (vertex.member || vertex.children.empty()) continue;
    const bool passes = node != top && vertex.children.size() == 1;
    if (passes || !available(node)) splice(vertices, node, top);
  }

  TopologyTree tree{.top = top, .branches = {}};
  std::vector<NodeId> order{top};
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const NodeId child : vertices[order[i]].children) {
      order.push_back(child);
      tree.branches.push_back(vertices[child].branch);
    }
  return tree;
}

}  // namespace thalweg::mpi_fpga
