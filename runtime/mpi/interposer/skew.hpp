// SPDX-License-Identifier: Apache-2.0
// Random delays of a rank before each of its collectives (thalweg run --skew).
#pragma once

#include <cstdint>

#include "mpi/protocol.hpp"

namespace thalweg::mpi {

class Skew {
 public:
  /// No delays.
  Skew() = default;
  /// `text`: "uniform:MAX:SEED" or "exponential:MEAN:SEED", with the maximum or mean delay in us.
  Skew(const char* text, int rank, double ticks_per_second);

  /// Delays of a thread's child, independent of its own.
  [[nodiscard]] Skew of_child(std::uint32_t number) const;
  /// The delay before the rank's next collective; reproducible for the same seed.
  Time draw();

 private:
  std::uint64_t state_ = 0;
  double ticks_ = 0;
  bool exponential_ = false;
};

}  // namespace thalweg::mpi
