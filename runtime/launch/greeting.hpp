// SPDX-License-Identifier: Apache-2.0
// The handshake of a process that connects to the run's socket.
#pragma once

#include <cstdint>

namespace thalweg::launch {

inline constexpr std::uint32_t kMagic = 0x7468616c;

struct Hello {
  std::uint32_t magic = kMagic;
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::int32_t pid = 0;
  char library[128] = {};  ///< what the MPI library says of itself, where it is not the one of the interposer
};

/// The shared memory's descriptor comes with it.
struct Welcome {
  std::int64_t ticks_per_second = 0;
  double compute_scale = 0;  ///< of a rank's own processor time; 0: it takes no virtual time
};

}  // namespace thalweg::launch
