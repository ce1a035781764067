// SPDX-License-Identifier: Apache-2.0
// Selects the packet that a local port of the collective unit sends; C++ model of rtl/mpi_fpga/tw_injector.sv.
#pragma once

#include <cstdint>

#include "common/arbiter.hpp"

namespace thalweg::mpi_fpga {

/// Round-robin over sources, per packet; a selected packet is sent to its end.
class Injector {
 public:
  Injector() = default;
  explicit Injector(unsigned sources) : sources_(sources) {}

  [[nodiscard]] bool sending() const { return sending_; }
  /// Source of the packet being sent.
  [[nodiscard]] unsigned source() const { return source_; }

  /// Selects a source when none is sending. `ready`: sources with a packet, at least one; `urgent`: those with
  /// priority.
  void begin(std::uint64_t ready, std::uint64_t urgent) {
    source_ = turn_.pick(urgent ? urgent : ready);
    turn_.accept(source_, sources_);
    sending_ = true;
  }
  void end() { sending_ = false; }

 private:
  Arbiter turn_;
  unsigned sources_ = 1, source_ = 0;
  bool sending_ = false;
};

}  // namespace thalweg::mpi_fpga
