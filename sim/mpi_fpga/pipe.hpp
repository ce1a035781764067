// SPDX-License-Identifier: Apache-2.0
// Rate of the streaming DMA, in bytes per tick.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/types.hpp"

namespace thalweg::mpi_fpga {

/// Keeps the fraction of a tick, so that packets follow each other without gaps. A rate of 0 is no limit.
class Pipe {
 public:
  explicit Pipe(double bytes_per_tick = 0)
      : cost_(bytes_per_tick > 0 ? static_cast<Tick>(std::ceil(static_cast<double>(kOne) / bytes_per_tick)) : 0) {}

  /// The first tick at which `bytes`, put in at `start` or when those before them have passed, have all passed.
  Tick pass(Tick start, std::uint64_t bytes) {
    end_ = std::max(end_, start * kOne) + static_cast<Tick>(bytes) * cost_;
    return (end_ + kOne - 1) / kOne;
  }

 private:
  static constexpr Tick kOne = 1 << 20;  ///< the fixed point: 2^43 ticks are nine hours at 250 MHz

  Tick cost_;
  Tick end_ = 0;
};

}  // namespace thalweg::mpi_fpga
