// SPDX-License-Identifier: Apache-2.0
// Plans several trees for a communicator, on which an allreduce reduces and broadcasts at the same time.
#pragma once

#include <vector>

#include "mpi_fpga/planners/disjoint_trees.hpp"

namespace thalweg::mpi_fpga {

/// Latency of a link and of combining two operands, in the same unit.
struct Delays {
  unsigned link = 1, combine = 0;
};

/// Converts trees that share no link in the same direction into as many others with this property, each with its own
/// root, on which a short allreduce (up to the root and down again) takes less time. Trees exchange a vertex's links
/// and move their roots at random, as long as nothing gets worse; deterministic per graph. On a ring, which leaves
/// nothing to exchange: the given trees, re-rooted in their middles.
[[nodiscard]] std::vector<Parents> allreduce_trees(const PortGraph& graph, std::vector<Parents> trees,
                                                   const Delays& delays);

}  // namespace thalweg::mpi_fpga
