// SPDX-License-Identifier: Apache-2.0
// The read ports of the memory of a link's slots; C++ model of rtl/mpi_fpga/tw_slot_bank.sv.
#pragma once

#include <array>

#include "core/types.hpp"

namespace thalweg::mpi_fpga {

/// Timing of a memory's read ports. The contents are kept with the packets.
class ReadPorts {
 public:
  static constexpr unsigned kPorts = 2;

  /// Free ports, as bits.
  [[nodiscard]] unsigned free(Tick now) const {
    return static_cast<unsigned>(until_[0] <= now) | static_cast<unsigned>(until_[1] <= now) << 1;
  }
  /// Ports, as bits, for a step of this cycle that reads `packets` packets; 0: not free. A single packet uses the first
  /// free port.
  [[nodiscard]] unsigned choose(unsigned packets, Tick now) const {
    const unsigned ports = free(now);
    if (packets == 1) return ports & -ports;
    return ports == 3 ? ports : 0;
  }
  void take(unsigned ports, Tick until) {
    for (unsigned port = 0; port < kPorts; ++port)
      if (ports >> port & 1) until_[port] = until;
  }

 private:
  std::array<Tick, kPorts> until_{};
};

}  // namespace thalweg::mpi_fpga
