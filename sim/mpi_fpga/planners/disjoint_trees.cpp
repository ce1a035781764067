// SPDX-License-Identifier: Apache-2.0
#include "mpi_fpga/planners/disjoint_trees.hpp"

#include <algorithm>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

namespace thalweg::mpi_fpga {
namespace {

/// Grows the trees. A link's direction is an arc, identified by its head: the arc into port p of vertex v is v * ports
/// + p.
class Growth {
 public:
  Growth(const PortGraph& graph, std::uint32_t root, unsigned trees)
      : graph_(graph),
        free_(graph.peers.size()),
        flow_(graph.peers.size()),
        reached_(trees, std::vector<bool>(graph.vertices)),
        entry_(trees),
        step_(graph.vertices),
        parents_(trees, Parents(graph.vertices, kRoot)) {
    for (std::size_t arc = 0; arc < free_.size(); ++arc) free_[arc] = graph.peers[arc].vertex != PortGraph::kNone;
    for (auto& reached : reached_) reached[root] = true;
  }

  /// Nothing if that many trees do not exist.
  [[nodiscard]] std::optional<std::vector<Parents>> grow(std::uint32_t root) {
    using Candidate = std::tuple<unsigned, std::uint32_t, unsigned, std::uint32_t>;  // depth, turn, tree, arc
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
    std::vector<Candidate> refused;  // retried later, when other trees may need fewer arcs
    std::uint32_t turn = 0, missing = (graph_.vertices - 1) * static_cast<std::uint32_t>(parents_.size());
    const auto offer = [&](unsigned tree, std::uint32_t vertex, unsigned depth) {
      for (unsigned port = 0; port < graph_.ports; ++port) {
        const PortGraph::End to = graph_.peer(vertex, port);
        if (to.vertex != PortGraph::kNone && !reached_[tree][to.vertex])
          candidates.emplace(depth, turn++, tree, to.vertex * graph_.ports + to.port);
      }
    };
    for (unsigned tree = 0; tree < parents_.size(); ++tree) offer(tree, root, 1);
    bool grown = false;
    while (!candidates.empty()) {
      const Candidate candidate = candidates.top();
      const auto [depth, _, tree, arc] = candidate;
      candidates.pop();
      const std::uint32_t head = arc / graph_.ports;
      if (!reached_[tree][head] && free_[arc]) {
        if (can_do_without(arc, tree)) {
          free_[arc] = false;
          reached_[tree][head] = true;
          parents_[tree][head] = static_cast<std::uint8_t>(arc % graph_.ports);
          --missing;
          offer(tree, head, depth + 1);
          grown = true;
        } else {
          refused.push_back(candidate);
        }
      }
      if (candidates.empty() && std::exchange(grown, false))
        for (const Candidate& again : std::exchange(refused, {})) candidates.push(again);
    }
    if (missing > 0) return std::nullopt;
    return parents_;
  }

 private:
  static constexpr std::uint32_t kNone = PortGraph::kNone;

  /// Step by which the search, backwards from the head, reached a vertex.
  struct Step {
    enum class Kind : std::uint8_t { unseen, start, arc, undo, entry } kind = Kind::unseen;
    std::uint32_t next = 0;  ///< next vertex towards the head
    std::uint32_t what = 0;  ///< arc, or tree whose entry moves
  };

  /// True if the trees can still be completed once `tree` has reached the head over `arc`: there are paths to the head,
  /// one from each other tree, that share no free arc.
  [[nodiscard]] bool can_do_without(std::uint32_t arc, unsigned tree) {
    const std::uint32_t head = arc / graph_.ports;
    std::fill(flow_.begin(), flow_.end(), false);
    for (unsigned i = 0; i < entry_.size(); ++i) entry_[i] = i == tree || reached_[i][head] ? head : kNone;
    for (auto missing = std::ranges::count(entry_, kNone); missing > 0; --missing)
      if (!augment(head, arc)) return false;
    return true;
  }

  /// Finds one more path to the head. It starts at a vertex that its tree has reached, and then uses free arcs.
  [[nodiscard]] bool augment(std::uint32_t head, std::uint32_t without) {
    for (const std::uint32_t vertex : queue_) step_[vertex] = {};
    queue_.assign(1, head);
    step_[head].kind = Step::Kind::start;
    const auto visit = [&](std::uint32_t vertex, Step step) {
      if (step_[vertex].kind != Step::Kind::unseen) return;
      step_[vertex] = step;
      queue_.push_back(vertex);
    };
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      const std::uint32_t vertex = queue_[i];
      for (std::uint32_t tree = 0; tree < entry_.size(); ++tree) {
        if (!reached_[tree][vertex]) continue;
        if (entry_[tree] == kNone) return follow(vertex, tree), true;
        visit(entry_[tree], {Step::Kind::entry, vertex, tree});
      }
      for (unsigned port = 0; port < graph_.ports; ++port) {
        const PortGraph::End other = graph_.peer(vertex, port);
        if (other.vertex == kNone) continue;
        const std::uint32_t in = vertex * graph_.ports + port, out = other.vertex * graph_.ports + other.port;
        if (free_[in] && in != without && !flow_[in]) visit(other.vertex, {Step::Kind::arc, vertex, in});
        if (flow_[out]) visit(other.vertex, {Step::Kind::undo, vertex, out});
      }
    }
    return false;
  }

  void follow(std::uint32_t vertex, std::uint32_t tree) {
    entry_[tree] = vertex;
    for (; step_[vertex].kind != Step::Kind::start; vertex = step_[vertex].next) {
      const Step& step = step_[vertex];
      if (step.kind == Step::Kind::entry)
        entry_[step.what] = step.next;
      else
        flow_[step.what] = step.kind == Step::Kind::arc;
    }
  }

  const PortGraph& graph_;
  std::vector<bool> free_, flow_;           ///< per arc: in no tree; on a path of the flow
  std::vector<std::vector<bool>> reached_;  ///< per tree and vertex
  std::vector<std::uint32_t> entry_;        ///< per tree: start of its path of the flow
  std::vector<Step> step_;
  std::vector<std::uint32_t> queue_;  ///< vertices seen by the last search
  std::vector<Parents> parents_;
};

}  // namespace

unsigned depth(const PortGraph& graph, const Parents& tree) {
  unsigned deepest = 0;
  for (std::uint32_t vertex = 0; vertex < graph.vertices; ++vertex) {
    unsigned links = 0;
    for (std::uint32_t at = vertex; tree[at] != kRoot; ++links) at = graph.peer(at, tree[at]).vertex;
    deepest = std::max(deepest, links);
  }
  return deepest;
}

std::vector<Parents> disjoint_trees(const PortGraph& graph, std::uint32_t root) {
  for (unsigned trees = graph.ports; trees > 0; --trees)
    if (auto found = Growth(graph, root, trees).grow(root)) return *found;
  return {};
}

}  // namespace thalweg::mpi_fpga
