// SPDX-License-Identifier: Apache-2.0
#include "vcsn/schedules.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "core/require.hpp"

namespace thalweg::vcsn {
namespace {

using Nodes = std::vector<unsigned>;
/// Returns the move of a block from a node to its parent on one side.
using StepOf = std::function<Move(unsigned node, unsigned above, unsigned side)>;

/// Blocks at nodes that have not been forwarded.
class Holding {
 public:
  explicit Holding(const Nodes& nodes) {
    for (const unsigned node : nodes) blocks_[node] = {node};
  }
  [[nodiscard]] bool has(unsigned node) const { return !blocks_.at(node).empty(); }
  [[nodiscard]] bool any() const {
    return std::ranges::any_of(blocks_, [](const auto& of) { return !of.second.empty(); });
  }
  Nodes take(unsigned node, std::size_t most) {
    Nodes& held = blocks_.at(node);
    const auto end = held.begin() + static_cast<std::ptrdiff_t>(std::min(most, held.size()));
    Nodes taken(held.begin(), end);
    held.erase(held.begin(), end);
    return taken;
  }
  Nodes take(unsigned node) { return take(node, blocks_.at(node).size()); }
  /// Adds a stage's received blocks to all nodes except the root.
  void pass(const Stage& stage, unsigned root) {
    for (const Move& move : stage.moves)
      if (move.destination != root)
        blocks_.at(move.destination).insert(blocks_.at(move.destination).end(), move.blocks.begin(), move.blocks.end());
  }

 private:
  std::map<unsigned, Nodes> blocks_;
};

/// Adds moves of the next block of each node of a chain to its parent; the first node's parent is the root.
void up(Stage& stage, Holding& holding, const Nodes& chain, unsigned root, const StepOf& step, unsigned side,
        bool heads = true) {
  unsigned above = root;
  for (const unsigned node : chain) {
    if (above != root || heads)
      if (auto blocks = holding.take(node, 1); !blocks.empty()) {
        Move move = step(node, above, side);
        move.blocks = std::move(blocks);
        stage.moves.push_back(std::move(move));
      }
    above = node;
  }
}

Nodes without(const Nodes& nodes, unsigned root) {
  Nodes others;
  std::ranges::copy_if(nodes, std::back_inserter(others), [&](unsigned node) { return node != root; });
  return others;
}

/// Moves over circuits leave by the first virtual port, and arrive at the last one of a forwarding node.
StepOf over_circuits(unsigned root, unsigned virtual_ports) {
  return [=](unsigned node, unsigned above, unsigned port) {
    return Move{node, {port, 0}, above, {port, above == root ? 0 : virtual_ports - 1}};
  };
}

Schedule ring_of(const Nodes& nodes, unsigned root, unsigned ports, const StepOf& step) {
  const auto at = std::ranges::find(nodes, root);
  require(at != nodes.end(), "node " + std::to_string(root) + " does not participate and cannot be the root");
  Nodes others(at + 1, nodes.end());
  others.insert(others.end(), nodes.begin(), at);
  const std::size_t sides = std::min(2U, ports), half = (others.size() + sides - 1) / sides;
  const auto middle = others.begin() + static_cast<std::ptrdiff_t>(half);
  const Nodes first(others.begin(), middle);
  Nodes second(middle, others.end());
  std::ranges::reverse(second);
  Holding holding(others);
  Schedule made{.root = root};
  while (holding.any()) {
    Stage stage;
    up(stage, holding, first, root, step, 0);
    up(stage, holding, second, root, step, 1);
    holding.pass(stage, root);
    made.stages.push_back(std::move(stage));
  }
  return made;
}

Schedule allgather_of(const Nodes& nodes, unsigned ports, const StepOf& step) {
  const std::size_t count = nodes.size();
  require(count > 0, "an allgather must have at least one node");
  const std::size_t sides[] = {ports > 1 ? count / 2 : count - 1, ports > 1 ? (count - 1) / 2 : 0};
  Schedule made{.root = nodes.front(), .everywhere = true};
  for (std::size_t number = 0; number < sides[0]; ++number) {
    Stage stage;
    for (unsigned side = 0; side < 2; ++side)
      for (std::size_t at = 0; number < sides[side] && at < count; ++at) {
        Move move = step(nodes[at], nodes[(at + (side ? count - 1 : 1)) % count], side);
        move.blocks = {nodes[(side ? at + number : at + count - number) % count]};
        stage.moves.push_back(std::move(move));
      }
    made.stages.push_back(std::move(stage));
  }
  return made;
}

}  // namespace

std::set<Schedule::Link> Schedule::circuits(std::size_t stage) const {
  std::set<Link> found;
  if (!rewired && stage == 0) found = others;
  for (std::size_t k = 0; k < stages.size(); ++k)
    if (rewired ? k == stage : stage == 0)
      for (const Move& move : stages[k].moves)
        found.emplace(move.source, move.source_port, move.destination, move.destination_port);
  return found;
}

std::set<unsigned> Schedule::nodes() const {
  std::set<unsigned> found;
  for (const auto& [source, source_port, destination, destination_port] : others) found.insert({source, destination});
  for (const Stage& stage : stages)
    for (const Move& move : stage.moves) {
      found.insert({move.source, move.destination});
      for (const auto& [node, comes, leaves_by] : move.passes) found.insert(node);
    }
  return found;
}

bool Schedule::sends_again(std::size_t stage) const {
  if (!rewired) return false;
  std::set<std::pair<unsigned, Port>> sent;
  for (const Move& move : stages.at(stage - 1).moves) sent.emplace(move.source, move.source_port);
  return std::ranges::any_of(circuits(stage), [&](const Link& link) {
    const auto& [source, source_port, destination, destination_port] = link;
    return sent.contains({source, source_port}) || sent.contains({destination, destination_port});
  });
}

Move step_over_links(const Cluster& cluster, unsigned source, unsigned destination, std::optional<unsigned> first) {
  const auto way = cluster.way(source, destination, first);
  const auto port = [](int number) { return Port{static_cast<unsigned>(number), 0}; };
  Move move{source, port(way.front().leaves_by), destination, port(way.back().comes), {source}};
  for (std::size_t k = 1; k + 1 < way.size(); ++k)
    move.passes.emplace_back(way[k].node, port(way[k].comes), port(way[k].leaves_by));
  return move;
}

Schedule tree(const Nodes& nodes, unsigned root, unsigned ports, unsigned virtual_ports) {
  const Nodes others = without(nodes, root);
  const std::size_t count = std::min<std::size_t>(ports * virtual_ports, others.size());
  require(count > 0, "a tree needs at least two nodes and a virtual port");
  std::vector<Nodes> branches;
  for (auto first = others.begin(); branches.size() < count;) {
    const std::size_t k = branches.size(), size = others.size() / count + (k < others.size() % count ? 1 : 0);
    branches.emplace_back(first, first + static_cast<std::ptrdiff_t>(size));
    first += static_cast<std::ptrdiff_t>(size);
  }
  const StepOf step = over_circuits(root, virtual_ports);
  Holding holding(others);
  Schedule made{.root = root};
  const auto first_ones_hold = [&] {
    for (std::size_t k = 0; k < std::min<std::size_t>(ports, count); ++k)
      if (std::ranges::any_of(branches[k], [&](unsigned node) { return holding.has(node); })) return true;
    return false;
  };
  while (first_ones_hold()) {
    Stage stage;
    for (std::size_t k = 0; k < count; ++k)
      up(stage, holding, branches[k], root, step, static_cast<unsigned>(k % ports), k < ports);
    holding.pass(stage, root);
    made.stages.push_back(std::move(stage));
  }
  for (unsigned turn = 1; turn * ports < count; ++turn) {
    Stage stage;
    for (unsigned port = 0; port < ports && turn * ports + port < count; ++port) {
      const unsigned head = branches[turn * ports + port].front();
      stage.moves.push_back({head, {port, 0}, root, {port, turn}, holding.take(head)});
    }
    made.stages.push_back(std::move(stage));
  }
  return made;
}

Schedule ring(const Nodes& nodes, unsigned root, unsigned ports, unsigned virtual_ports) {
  return ring_of(nodes, root, ports, over_circuits(root, virtual_ports));
}

Schedule relink(const Nodes& nodes, unsigned root, unsigned ports, unsigned) {
  const Nodes others = without(nodes, root);
  Schedule made{.root = root, .rewired = true};
  for (std::size_t first = 0; first < others.size(); first += ports) {
    Stage stage;
    for (unsigned port = 0; port < ports && first + port < others.size(); ++port) {
      const unsigned node = others[first + port];
      stage.moves.push_back({node, {port, 0}, root, {port, 0}, {node}});
    }
    made.stages.push_back(std::move(stage));
  }
  return made;
}

Schedule allgather_ring(const Nodes& nodes, unsigned ports) {
  return allgather_of(nodes, ports, [](unsigned node, unsigned other, unsigned side) {
    return Move{node, {side, 0}, other, {side, 1}};
  });
}

namespace {

/// Checks that there are at least two FPGAs, all different.
void check(const Cluster& cluster, const Nodes& nodes, const std::string& what) {
  std::set<unsigned> known;
  for (const unsigned node : nodes) {
    cluster.check(node);
    require(known.insert(node).second, what + ": node " + std::to_string(node) + " is given twice");
  }
  require(nodes.size() >= 2, what + " needs at least two nodes");
}

}  // namespace

Schedule gather_schedule(const Cluster& cluster, const std::string& by, const Nodes& nodes, unsigned root) {
  check(cluster, nodes, "a gather");
  require(std::ranges::find(nodes, root) != nodes.end(),
          "node " + std::to_string(root) + " does not participate and cannot be the root");
  if (cluster.is_direct()) {
    require(by == "ring",
            "a gather by " + by + " needs circuits; " + cluster.name() + " has serial links and can only use ring");
    return ring_of(nodes, root, 2, [&](unsigned node, unsigned above, unsigned side) {
      // Port 0 leads to larger numbers, port 1 to smaller ones, in the order of the nodes after the root.
      return step_over_links(cluster, node, above, nodes.size() == 2 ? std::nullopt : std::optional(1 - side));
    });
  }
  using Make = Schedule (*)(const Nodes&, unsigned, unsigned, unsigned);
  const std::map<std::string, Make> ways{{"tree", tree}, {"ring", ring}, {"relink", relink}};
  const auto found = ways.find(by);
  require(found != ways.end(), "unknown method '" + by + "'; must be tree, ring or relink");
  return found->second(nodes, root, cluster.ports(root), cluster.virtual_ports(root));
}

Schedule allgather_schedule(const Cluster& cluster, const Nodes& nodes) {
  check(cluster, nodes, "an allgather");
  if (!cluster.is_direct()) return allgather_ring(nodes, cluster.ports(nodes.front()));
  return allgather_of(nodes, 2, [&](unsigned node, unsigned other, unsigned side) {
    return step_over_links(cluster, node, other, nodes.size() == 2 ? std::nullopt : std::optional(side));
  });
}

Schedule scatter(const Schedule& gather) {
  Schedule made{.root = gather.root, .rewired = gather.rewired};
  for (auto stage = gather.stages.rbegin(); stage != gather.stages.rend(); ++stage) {
    made.stages.emplace_back();
    for (const Move& move : stage->moves) {
      Move back{move.destination, move.destination_port, move.source, move.source_port, move.blocks};
      for (auto pass = move.passes.rbegin(); pass != move.passes.rend(); ++pass)
        back.passes.emplace_back(std::get<0>(*pass), std::get<2>(*pass), std::get<1>(*pass));
      made.stages.back().moves.push_back(std::move(back));
    }
  }
  return made;
}

}  // namespace thalweg::vcsn
