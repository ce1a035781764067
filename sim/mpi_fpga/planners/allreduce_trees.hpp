// SPDX-License-Identifier: Apache-2.0
// Plans several trees for a communicator, on which an allreduce reduces and broadcasts at the same time.
#pragma once

#include <vector>

#include "mpi_fpga/planners/disjoint_trees.hpp"

namespace thalweg::mpi_fpga {

/// What passing a link and combining two operands take, in the same unit.
struct Delays {
  unsigned link = 1, combine = 0;
};

/// From trees that share no link in the same direction as many others that don't, each with a root of its own, on which a short
/// allreduce takes less time: up to the root, where all is combined, and down again. Trees exchange a vertex' links and move
/// their roots, at random, as long as nothing gets worse; the same for the same graph. On a ring, where there is nothing to
/// exchange: the given trees from their middles.
[[nodiscard]] std::vector<Parents> allreduce_trees(const PortGraph& graph, std::vector<Parents> trees,
                                                   const Delays& delays);

}  // namespace thalweg::mpi_fpga
