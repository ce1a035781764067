// SPDX-License-Identifier: Apache-2.0
// Gather, scatter and allgather as stages of transfers between nodes' memories: ring, tree and re-wiring (section 5 of
// the paper).
//
// A stage's transfers are concurrent; the next stage begins when all have ended. A block is a node's own data, and has
// the node's number.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "vcsn/cluster.hpp"

namespace thalweg::vcsn {

/// An external port and one of its virtual ports.
using Port = std::pair<unsigned, unsigned>;

/// Moves blocks from one node's memory to another's.
struct Move {
  /// A node whose crossbar forwards them, with input and output port.
  using Pass = std::tuple<unsigned, Port, Port>;

  unsigned source = 0;
  Port source_port{};
  unsigned destination = 0;
  Port destination_port{};
  std::vector<unsigned> blocks{};
  std::vector<Pass> passes{};
};

/// Concurrent transfers.
struct Stage {
  std::vector<Move> moves;
};

/// The stages of a gather to a root, of a scatter from it, or of an allgather, whose root is the first node.
struct Schedule {
  /// A circuit: node and port of both ends.
  using Link = std::tuple<unsigned, Port, unsigned, Port>;

  unsigned root = 0;
  std::vector<Stage> stages{};
  bool rewired = false;     ///< each stage opens the circuits of its own moves
  bool everywhere = false;  ///< every node receives all blocks, over all its external ports concurrently
  bool steps = false;       ///< only the rows that the first stage needs are written before it
  std::set<Link> others{};  ///< additional circuits, opened before the first stage

  /// Circuits to open before a stage. Unless `rewired`, all are opened before the first stage.
  [[nodiscard]] std::set<Link> circuits(std::size_t stage) const;
  /// All participating nodes: sources, destinations, forwarding nodes, and ends of other circuits.
  [[nodiscard]] std::set<unsigned> nodes() const;
  /// True if a stage connects a port that has sent in the previous stage to another port.
  [[nodiscard]] bool sends_again(std::size_t stage) const;
};

/// Moves a block between FPGAs over serial links; crossbars of FPGAs between them forward it. `first`: output port at
/// `source`. Throws std::invalid_argument.
[[nodiscard]] Move step_over_links(const Cluster& cluster, unsigned source, unsigned destination,
                                   std::optional<unsigned> first = {});

/// Gathers to `root` from branches at all its virtual ports (Figures 10 and 12). Each branch is a chain in which every
/// node forwards a block per stage. The branches of the first virtual ports are received first, one at each external
/// port. The blocks that the other branches have meanwhile gathered at their first node follow, one stage per further
/// virtual port.
[[nodiscard]] Schedule tree(const std::vector<unsigned>& nodes, unsigned root, unsigned ports, unsigned virtual_ports);
/// Gathers to `root` from both sides of a ring (Figures 10 and 11), a block per stage; with one external port from one
/// side.
[[nodiscard]] Schedule ring(const std::vector<unsigned>& nodes, unsigned root, unsigned ports, unsigned virtual_ports);
/// Gathers directly to `root`, in each stage from as many nodes as it has external ports; each stage has its own
/// circuits (Equation 5).
[[nodiscard]] Schedule relink(const std::vector<unsigned>& nodes, unsigned root, unsigned ports,
                              unsigned virtual_ports);
/// Sends around a ring in both directions, or in one with one external port. Each node first sends its own block, then
/// forwards the last received one. A line carries one stream in each direction.
[[nodiscard]] Schedule allgather_ring(const std::vector<unsigned>& nodes, unsigned ports);

/// Returns a gather's schedule on a cluster. `by`: tree, ring or relink over circuits; only ring in a direct network,
/// where ports 0 must lead to larger numbers around the ring. Throws std::invalid_argument.
[[nodiscard]] Schedule gather_schedule(const Cluster& cluster, const std::string& by,
                                       const std::vector<unsigned>& nodes, unsigned root);
[[nodiscard]] Schedule allgather_schedule(const Cluster& cluster, const std::vector<unsigned>& nodes);
/// Reverses a gather: each node receives its own block (section 6.6.1).
[[nodiscard]] Schedule scatter(const Schedule& gather);

}  // namespace thalweg::vcsn
