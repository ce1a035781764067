// SPDX-License-Identifier: Apache-2.0
// Cost of passing data between ranks of a node through the host's memory.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/types.hpp"

namespace thalweg::mpi {

struct HostMemory {
  Tick overhead = 0;          ///< of a message without data
  double bytes_per_tick = 1;  ///< copy rate

  [[nodiscard]] Tick ticks(std::uint64_t bytes) const {
    return overhead + static_cast<Tick>(std::ceil(static_cast<double>(bytes) / bytes_per_tick));
  }
};

}  // namespace thalweg::mpi
