// SPDX-License-Identifier: Apache-2.0
#include "mpi_fpga/planners/allreduce_trees.hpp"

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <random>
#include <utility>

#include "reduce/join.hpp"

namespace thalweg::mpi_fpga {
namespace {

/// The same tree, with the same links, re-rooted in its middle: the first of the vertices from which its depth is
/// least.
Parents from_the_middle(const PortGraph& graph, const Parents& tree) {
  std::vector<std::vector<std::uint8_t>> ports(graph.vertices);  // per vertex: its ports in the tree
  for (std::uint32_t vertex = 0; vertex < graph.vertices; ++vertex) {
    if (tree[vertex] == kRoot) continue;
    const PortGraph::End parent = graph.peer(vertex, tree[vertex]);
    ports[vertex].push_back(tree[vertex]);
    ports[parent.vertex].push_back(static_cast<std::uint8_t>(parent.port));
  }
  Parents parents;
  // Roots the tree there; returns the vertex that is reached last.
  const auto root_at = [&](std::uint32_t root) {
    parents.assign(graph.vertices, kRoot);
    std::vector<std::uint32_t> reached{root};
    for (std::size_t i = 0; i < reached.size(); ++i)
      for (const std::uint8_t port : ports[reached[i]]) {
        if (port == parents[reached[i]]) continue;
        const PortGraph::End end = graph.peer(reached[i], port);
        parents[end.vertex] = static_cast<std::uint8_t>(end.port);
        reached.push_back(end.vertex);
      }
    return reached.back();
  };
  std::vector<std::uint32_t> longest;  // path in the tree
  const std::uint32_t end = root_at(root_at(0));
  for (std::uint32_t vertex = end;; vertex = graph.peer(vertex, parents[vertex]).vertex) {
    longest.push_back(vertex);
    if (parents[vertex] == kRoot) break;
  }
  root_at(std::min(longest[longest.size() / 2], longest[(longest.size() - 1) / 2]));
  return parents;
}

/// Local search over trees that share no arc.
class Exchange {
 public:
  Exchange(const PortGraph& graph, std::vector<Parents> trees, const Delays& delays)
      : graph_(graph),
        trees_(std::move(trees)),
        delays_(delays),
        shapes_(trees_.size()),
        up_(graph.peers.size()),
        down_(graph.peers.size()) {
    for (std::size_t i = 0; i < trees_.size(); ++i) {
      shapes_[i] = shape(trees_[i]);
      mark(trees_[i], shapes_[i], true);
    }
    limit_ = diameter();
    worth_ = worth();
  }

  [[nodiscard]] std::vector<Parents> run() {
    const std::size_t moves = std::min(
        {std::size_t{kMoves} * graph_.vertices * trees_.size(), std::size_t{kMost}, kMostVisits / graph_.vertices});
    for (std::size_t i = 0; i < moves; ++i) {
      const std::uint32_t vertex = any(graph_.vertices), one = any(trees_.size()), other = any(trees_.size());
      if (one != other) attempt(one, other, vertex);
    }
    return std::move(trees_);
  }

 private:
  static constexpr unsigned kMoves = 100, kMost = 30'000;                ///< per vertex and tree; in total
  static constexpr std::size_t kMostVisits = kMost * std::size_t{4096};  ///< of vertices, which each move visits

  struct Shape {
    bool tree = false;
    std::uint32_t delay = 0;             ///< of the slowest vertex
    std::vector<std::uint16_t> heights;  ///< per vertex: links down to its farthest descendant
  };
  /// Lower is better, compared lexicographically.
  ///
  /// A link may carry the upward stream of one tree and the downward stream of another. The downward one waits for the
  /// upward one, so everything below its vertex completes only after the path up below the link, twice the stream, and
  /// the path down below the vertex. If these paths together have no more links than the diameter, this causes no
  /// delay.
  struct Worth {
    std::uint32_t delay = 0;  ///< delay of the slowest tree
    std::uint64_t rest = 0;   ///< sum of delays, plus penalties where streams as long as their upward path meet
    auto operator<=>(const Worth&) const = default;
  };

  [[nodiscard]] std::uint32_t any(std::size_t n) { return static_cast<std::uint32_t>(random_() % n); }
  [[nodiscard]] PortGraph::End parent(const Parents& tree, std::uint32_t vertex) const {
    return graph_.peer(vertex, tree[vertex]);
  }

  void attempt(std::uint32_t one, std::uint32_t other, std::uint32_t vertex) {
    const std::array which{one, other};
    const std::array before{trees_[one], trees_[other]};
    if (!change(trees_[one], trees_[other], vertex)) return;
    std::array<Shape, 2> after;
    bool right = true;
    for (unsigned i = 0; i < 2 && right; ++i) {
      after[i] = shape(trees_[which[i]]);
      right = after[i].tree && after[i].delay <= worth_.delay;
    }
    if (right) {
      for (unsigned i = 0; i < 2; ++i) mark(before[i], shapes_[which[i]], false);
      for (unsigned i = 0; i < 2; ++i) mark(trees_[which[i]], after[i], true), std::swap(after[i], shapes_[which[i]]);
      const Worth now = worth();
      if (now <= worth_) {
        worth_ = now;
        return;
      }
      for (unsigned i = 0; i < 2; ++i) mark(trees_[which[i]], shapes_[which[i]], false);
      for (unsigned i = 0; i < 2; ++i) mark(before[i], after[i], true), std::swap(after[i], shapes_[which[i]]);
    }
    for (unsigned i = 0; i < 2; ++i) trees_[which[i]] = before[i];
  }

  /// False if nothing was changed.
  [[nodiscard]] bool change(Parents& one, Parents& other, std::uint32_t vertex) {
    if (one[vertex] != kRoot && other[vertex] != kRoot) {
      std::swap(one[vertex], other[vertex]);
      return true;
    }
    const std::uint8_t port = free_port(vertex);
    if (port == kRoot) return false;
    if (one[vertex] == kRoot) {
      // The root becomes the child of a vertex of its own tree, and a vertex on the path to it the new root.
      std::uint32_t next = graph_.peer(vertex, port).vertex;
      for (unsigned up = any(4); up > 0 && parent(one, next).vertex != vertex; --up) next = parent(one, next).vertex;
      one[next] = kRoot;
    }
    one[vertex] = port;
    return true;
  }

  /// A port of `vertex` with a link that is no tree's up port; kRoot: none.
  [[nodiscard]] std::uint8_t free_port(std::uint32_t vertex) const {
    for (std::uint8_t port = 0; port < graph_.ports; ++port)
      if (graph_.peer(vertex, port).vertex != PortGraph::kNone &&
          std::ranges::none_of(trees_, [&](const Parents& tree) { return tree[vertex] == port; }))
        return port;
    return kRoot;
  }

  [[nodiscard]] Shape shape(const Parents& tree) {
    Shape result;
    result.heights.assign(graph_.vertices, 0);
    children_.assign(graph_.vertices, 0);
    for (std::uint32_t vertex = 0; vertex < graph_.vertices; ++vertex)
      if (tree[vertex] != kRoot) ++children_[parent(tree, vertex).vertex];
    order_.clear();  // each vertex after its descendants
    left_ = children_;
    for (std::uint32_t vertex = 0; vertex < graph_.vertices; ++vertex)
      if (left_[vertex] == 0) order_.push_back(vertex);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const std::uint32_t vertex = order_[i];
      if (tree[vertex] == kRoot) continue;
      const std::uint32_t above = parent(tree, vertex).vertex;
      result.heights[above] =
          std::max<std::uint16_t>(result.heights[above], static_cast<std::uint16_t>(result.heights[vertex] + 1));
      if (--left_[above] == 0) order_.push_back(above);
    }
    if (order_.size() < graph_.vertices) return result;  // it has a cycle
    result.tree = true;
    delay_.assign(graph_.vertices, 0);
    for (auto vertex = order_.rbegin(); vertex != order_.rend(); ++vertex) {
      std::uint32_t& delay = delay_[*vertex];
      delay = delays_.combine * join_depth(children_[*vertex] + 1);
      if (tree[*vertex] != kRoot) delay += delay_[parent(tree, *vertex).vertex] + 2 * delays_.link;
      result.delay = std::max(result.delay, delay);
    }
    return result;
  }

  /// Adds a tree's streams to its links, or removes them.
  void mark(const Parents& tree, const Shape& shape, bool set) {
    for (std::uint32_t vertex = 0; vertex < graph_.vertices; ++vertex) {
      if (tree[vertex] == kRoot) continue;
      const PortGraph::End above = parent(tree, vertex);
      down_[vertex * graph_.ports + tree[vertex]] = set ? shape.heights[above.vertex] : std::uint16_t{0};
      up_[above.vertex * graph_.ports + above.port] = static_cast<std::uint16_t>(set ? shape.heights[vertex] + 1 : 0);
    }
  }

  /// Links from the first vertex to the farthest.
  [[nodiscard]] unsigned diameter() const {
    std::vector<unsigned> distance(graph_.vertices, graph_.vertices);
    std::vector<std::uint32_t> reached{0};
    distance[0] = 0;
    for (std::size_t i = 0; i < reached.size(); ++i)
      for (unsigned port = 0; port < graph_.ports; ++port) {
        const std::uint32_t next = graph_.peer(reached[i], port).vertex;
        if (next == PortGraph::kNone || distance[next] < graph_.vertices) continue;
        distance[next] = distance[reached[i]] + 1;
        reached.push_back(next);
      }
    return distance[reached.back()];
  }

  [[nodiscard]] Worth worth() const {
    Worth result;
    for (const Shape& shape : shapes_) {
      result.delay = std::max(result.delay, shape.delay);
      result.rest += shape.delay;
    }
    for (std::size_t arc = 0; arc < up_.size(); ++arc) {
      if (!up_[arc] || !down_[arc] || up_[arc] + down_[arc] <= limit_) continue;
      const std::uint64_t more = up_[arc] + down_[arc] - limit_;
      result.rest += delays_.link * more * more;
    }
    return result;
  }

  const PortGraph& graph_;
  std::vector<Parents> trees_;
  Delays delays_;
  std::vector<Shape> shapes_;  ///< per tree
  std::vector<std::uint16_t> up_,
      down_;            ///< per arc: links of the longest path up to its end, and down from its start; 0: none
  unsigned limit_ = 0;  ///< for the sum of both
  Worth worth_;
  std::mt19937 random_;
  std::vector<std::uint32_t> children_, left_, order_, delay_;  ///< of the tree being evaluated
};

}  // namespace

std::vector<Parents> allreduce_trees(const PortGraph& graph, std::vector<Parents> trees, const Delays& delays) {
  if (graph.ports > 2) return Exchange(graph, std::move(trees), delays).run();
  for (Parents& tree : trees) tree = from_the_middle(graph, tree);
  return trees;
}

}  // namespace thalweg::mpi_fpga
