// SPDX-License-Identifier: Apache-2.0
// The messages that an MPI library would exchange for a collective that is not executed in the network.
#pragma once

#include <cstdint>
#include <vector>

#include "mpi/protocol.hpp"

namespace thalweg::mpi {

struct Transfer {
  std::uint32_t source = 0, destination = 0;  ///< ranks of the communicator
  std::uint64_t bytes = 0;
};

/// A rank starts its part of a round when its parts of the rounds before are done: what it sends has left, what it is
/// sent has arrived.
using Rounds = std::vector<std::vector<Transfer>>;

struct SoftwareCall {
  Pattern pattern = Pattern::none;
  std::uint32_t ranks = 0;
  std::uint32_t root = 0;
  std::uint64_t bytes = 0;                    ///< of one block
  std::vector<std::vector<ListEntry>> lists;  ///< of each rank, for the patterns that have lists
};

/// The rounds of the algorithm that Pattern names.
[[nodiscard]] Rounds software_rounds(const SoftwareCall& call);

}  // namespace thalweg::mpi
