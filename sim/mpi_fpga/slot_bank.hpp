// SPDX-License-Identifier: Apache-2.0
// The read ports of the memory of a link's slots; C++ model of rtl/mpi_fpga/tw_slot_bank.sv.
#pragma once

#include <array>

#include "core/types.hpp"

namespace thalweg::mpi_fpga {

/// When the ports at which a memory is read are free again. What is in it stays with its packets.
class ReadPorts {
 public:
  static constexpr unsigned kPorts = 2;

  /// The free ones, as bits.
  [[nodiscard]] unsigned free(Tick now) const {
    return static_cast<unsigned>(until_[0] <= now) | static_cast<unsigned>(until_[1] <= now) << 1;
  }
  /// Those that a step of this cycle takes that reads so many packets, as bits; 0: they are not free. A packet alone goes to the
  /// first that is free.
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
