// SPDX-License-Identifier: Apache-2.0
// Rate limiter of the streaming DMA, in bytes per tick.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/types.hpp"

namespace thalweg::mpi_fpga {

/// Accumulates fractions of a tick, so that packets follow each other without gaps. Rate 0: no limit.
class Pipe {
 public:
  explicit Pipe(double bytes_per_tick = 0)
      : cost_(bytes_per_tick > 0 ? static_cast<Tick>(std::ceil(static_cast<double>(kOne) / bytes_per_tick)) : 0) {}

  /// Returns the first tick at which `bytes` have passed, if they enter at `start` or, if later, after all earlier
  /// bytes.
  Tick pass(Tick start, std::uint64_t bytes) {
    end_ = std::max(end_, start * kOne) + static_cast<Tick>(bytes) * cost_;
    return (end_ + kOne - 1) / kOne;
  }

 private:
  static constexpr Tick kOne = 1 << 20;  ///< fixed point: overflows after 2^43 ticks, nine hours at 250 MHz

  Tick cost_;
  Tick end_ = 0;
};

}  // namespace thalweg::mpi_fpga
