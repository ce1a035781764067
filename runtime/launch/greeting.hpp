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
  char library[128] = {};  ///< error message if the MPI library is not the interposer's; otherwise empty
};

/// Sent together with the shared memory's descriptor.
struct Welcome {
  std::int64_t ticks_per_second = 0;
  double compute_scale = 0;  ///< virtual time per processor time of a rank; 0: computation takes no time
};

}  // namespace thalweg::launch
