// SPDX-License-Identifier: Apache-2.0
// Messages that an MPI library would exchange for a collective that is not executed in the network.
#pragma once

#include <cstdint>
#include <vector>

#include "mpi/protocol.hpp"

namespace thalweg::mpi {

struct Transfer {
  std::uint32_t source = 0, destination = 0;  ///< ranks of the communicator
  std::uint64_t bytes = 0;
};

/// A rank starts its part of a round when its earlier rounds are complete: its sends have left, its receives have arrived.
using Rounds = std::vector<std::vector<Transfer>>;

struct SoftwareCall {
  Pattern pattern = Pattern::none;
  std::uint32_t ranks = 0;
  std::uint32_t root = 0;
  std::uint64_t bytes = 0;                    ///< of one block
  std::vector<std::vector<ListEntry>> lists;  ///< of each rank, for patterns with lists
};

/// The rounds of the pattern's algorithm.
[[nodiscard]] Rounds software_rounds(const SoftwareCall& call);

}  // namespace thalweg::mpi
