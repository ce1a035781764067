// SPDX-License-Identifier: Apache-2.0
// Rings through all vertices of a torus that together use every link once.
#pragma once

#include <cstdint>
#include <vector>

#include "mpi_fpga/planners/disjoint_trees.hpp"

namespace thalweg::mpi_fpga {

/// The vertices in ring order, and the port by which the ring leaves each; the last one leads back to the first.
struct RingPath {
  std::vector<std::uint32_t> vertices;
  std::vector<std::uint8_t> ports;
};

/// A torus of n dimensions, each of 3 or more, has n rings through all vertices that use every link once (A. Kotzig,
/// 1973, for two dimensions, M. Foregger, 1978, for three, J. Aubert and B. Schneider, 1982, for any number). They are
/// built from the rings of each dimension: if opposite sides of a square belong to the rings of two dimensions, these
/// exchange their sides unless that increases the number of rings. Deterministic per graph. None if links do not leave
/// all vertices alike, as in a torus, if the random search fails, as on many tori with a dimension of 2, or for more
/// than 4096 vertices, for which it takes too long.
[[nodiscard]] std::vector<RingPath> hamiltonian_rings(const PortGraph& graph);

}  // namespace thalweg::mpi_fpga
