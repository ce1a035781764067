// SPDX-License-Identifier: Apache-2.0
// Rings through all vertices of a torus that together use every link once.
#pragma once

#include <cstdint>
#include <vector>

#include "mpi_fpga/planners/disjoint_trees.hpp"

namespace thalweg::mpi_fpga {

/// The vertices in the order of a way round, and the port by which it leaves each; the last one leads back to the first.
struct RingWay {
  std::vector<std::uint32_t> vertices;
  std::vector<std::uint8_t> ports;
};

/// A torus of n dimensions, each of 3 or more, has n rings through all vertices that use every link once (A. Kotzig, 1973, for
/// two dimensions, M. Foregger, 1978, for three, J. Aubert and B. Schneider, 1982, for any number). They grow from the rings of
/// each dimension: where the sides of a square belong by pairs to two dimensions' rings, these exchange them, unless there
/// are more rings afterwards. The same for the same graph. None where links do not leave all vertices alike, as in a torus,
/// or where the search, a walk by chance, ends without: so it is on many tori with a dimension of 2.
[[nodiscard]] std::vector<RingWay> hamiltonian_rings(const PortGraph& graph);

}  // namespace thalweg::mpi_fpga
