// SPDX-License-Identifier: Apache-2.0
// Random delays of a rank before each of its collectives (thalweg run --skew).
#pragma once

#include <cstdint>

#include "mpi/protocol.hpp"

namespace thalweg::mpi {

class Skew {
 public:
  /// None.
  Skew() = default;
  /// `text`: uniform or exponential, the largest or the mean delay in us, and a seed, with a colon after each of the first two.
  Skew(const char* text, int rank, double ticks_per_second);

  /// The delay of the rank's next collective; the same in every run of the same seed.
  Time draw();

 private:
  std::uint64_t state_ = 0;
  double ticks_ = 0;
  bool exponential_ = false;
};

}  // namespace thalweg::mpi
