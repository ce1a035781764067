// SPDX-License-Identifier: Apache-2.0
// Reads by units that take more than one cycle per flit, whose buffer space stays reserved; C++ model of rtl/mpi_fpga/tw_slow_reads.sv.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/bits.hpp"
#include "core/types.hpp"

namespace thalweg::mpi_fpga {

/// A packet that is being read, a flit in `pace` cycles.
struct SlowPacket {
  Tick from = 0;
  unsigned flits = 0, pace = 1;

  [[nodiscard]] Tick until() const { return from + Tick{pace} * flits; }
  /// What is left of it, and would be written over in this cycle.
  [[nodiscard]] unsigned unread(Tick now) const {
    return static_cast<unsigned>(now < until() ? flits - (now - from) / pace : 0);
  }
};

/// A packet of n flits, of which one is read in p cycles, is overtaken by nothing that comes a flit a cycle once n (p - 1) of these
/// cycles have passed: its room is held until then. A unit reads one packet of each place at a time.
class SlowReads {
 public:
  explicit SlowReads(unsigned units) : reads_(units) {}

  /// A unit begins to read, at a place, out of its members, as bits, whose room is held from the next cycle on until `until`.
  void begin(unsigned unit, std::uint32_t place, Wide members, Tick until) { reads_[unit] = {until, place, members}; }
  /// Members of the place whose room is held, as bits.
  [[nodiscard]] Wide held(std::uint32_t place, Tick now) const {
    Wide held = 0;
    for (const Read& read : reads_)
      if (read.until > now && read.place == place) held |= read.members;
    return held;
  }
  /// Some is held no more in the next cycle.
  [[nodiscard]] bool freed(Tick now) const {
    return std::ranges::any_of(reads_, [&](const Read& read) { return read.until == now + 1; });
  }

 private:
  struct Read {
    Tick until = 0;
    std::uint32_t place = 0;
    Wide members = 0;
  };

  std::vector<Read> reads_;  ///< of each unit
};

}  // namespace thalweg::mpi_fpga
