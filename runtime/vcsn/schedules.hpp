// SPDX-License-Identifier: Apache-2.0
// Gather, scatter and allgather as stages of transfers between nodes' memories: by ring, by tree, and by re-wiring (section 5 of the paper).
//
// A stage's transfers go at once; the next stage begins when all have ended. Blocks are the nodes' own data, by the nodes' numbers.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "vcsn/cluster.hpp"

namespace thalweg::vcsn {

/// An external port and a virtual port of it.
using Port = std::pair<unsigned, unsigned>;

/// Blocks from a node's memory to another's.
struct Move {
  /// A node whose crossbar passes them on: the ports that they come in at and leave by.
  using Pass = std::tuple<unsigned, Port, Port>;

  unsigned source = 0;
  Port source_port{};
  unsigned destination = 0;
  Port destination_port{};
  std::vector<unsigned> blocks{};
  std::vector<Pass> passes{};
};

/// Transfers that go at once.
struct Stage {
  std::vector<Move> moves;
};

/// The stages of a gather to a root, of a scatter from it, or of an allgather, whose root is the first node.
struct Schedule {
  /// A circuit: nodes and ports of both ends.
  using Link = std::tuple<unsigned, Port, unsigned, Port>;

  unsigned root = 0;
  std::vector<Stage> stages{};
  bool rewired = false;     ///< each stage opens the circuits of its own moves
  bool everywhere = false;  ///< every node gets all blocks, over all its external ports at once
  bool steps = false;       ///< only the rows that it needs are written before the first stage
  std::set<Link> others{};  ///< circuits that are opened before the first stage, too

  /// The circuits that are opened before a stage. Unless it is rewired, all are opened before the first stage.
  [[nodiscard]] std::set<Link> circuits(std::size_t stage) const;
  /// The nodes that take part: sources, destinations, nodes that pass packets on, and ends of other circuits.
  [[nodiscard]] std::set<unsigned> nodes() const;
  /// Whether a port is joined with another one for a stage that has sent in the stage before.
  [[nodiscard]] bool sends_again(std::size_t stage) const;
};

/// A block from an FPGA to another over serial links; between them are others' crossbars. `first`: the port that it leaves by. Throws
/// std::invalid_argument.
[[nodiscard]] Move step_over_links(const Cluster& cluster, unsigned source, unsigned destination,
                                   std::optional<unsigned> first = {});

/// To `root` from branches at all its virtual ports (Figures 10 and 12). Each is a chain along which every node passes a block on in every
/// stage. The first virtual ports' branches come first, one at each external port; what the others have gathered meanwhile at their first node
/// follows in a stage for each further virtual port.
[[nodiscard]] Schedule tree(const std::vector<unsigned>& nodes, unsigned root, unsigned ports, unsigned virtual_ports);
/// To `root` from both sides of a ring (Figures 10 and 11), a block a stage; with one external port from one side.
[[nodiscard]] Schedule ring(const std::vector<unsigned>& nodes, unsigned root, unsigned ports, unsigned virtual_ports);
/// Straight to `root`, as many nodes a stage as it has external ports; each stage has circuits of its own (Equation 5).
[[nodiscard]] Schedule relink(const std::vector<unsigned>& nodes, unsigned root, unsigned ports,
                              unsigned virtual_ports);
/// Around a ring both ways, one way with one external port: each node passes the block on that has come last, its own first. A line carries one
/// stream each way.
[[nodiscard]] Schedule allgather_ring(const std::vector<unsigned>& nodes, unsigned ports);

/// Of a cluster's FPGAs. `by`: tree, ring or relink over circuits; a direct network, whose ports 0 lead to larger numbers around a ring, has ring.
/// Throws std::invalid_argument.
[[nodiscard]] Schedule gather_schedule(const Cluster& cluster, const std::string& by,
                                       const std::vector<unsigned>& nodes, unsigned root);
[[nodiscard]] Schedule allgather_schedule(const Cluster& cluster, const std::vector<unsigned>& nodes);
/// A gather the other way round: each node gets its own block (section 6.6.1).
[[nodiscard]] Schedule scatter(const Schedule& gather);

}  // namespace thalweg::vcsn
