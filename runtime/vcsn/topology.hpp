// SPDX-License-Identifier: Apache-2.0
// Virtual topologies: graphs of FPGAs, whose edges are mapped to virtual ports.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vcsn/cluster.hpp"

namespace thalweg::vcsn {

struct Topology {
  using Edge = std::pair<std::int64_t, std::int64_t>;

  std::string name;
  std::vector<Edge> edges;  ///< one circuit each; several may connect the same two FPGAs

  /// Builds a shape from FPGAs in order: line, ring, mesh, torus (`size`: nodes of each dimension, the first one
  /// fastest), star (around the first), tree (`size`: branches of each node, 2 by default; the first is the root).
  /// Throws std::invalid_argument.
  [[nodiscard]] static Topology of(const std::string& shape, std::span<const std::int64_t> nodes,
                                   std::span<const std::int64_t> size = {});
  /// Uses FPGAs 0 to count - 1.
  [[nodiscard]] static Topology of(const std::string& shape, unsigned count,
                                   const std::vector<std::int64_t>& size = {});
};

/// Returns a circuit for each edge, in order. An FPGA's circuits are spread over its external ports. Throws
/// std::invalid_argument if no assignment of ports is found.
[[nodiscard]] std::vector<Ends> mapped(const Topology& topology, const Cluster& cluster);

}  // namespace thalweg::vcsn
