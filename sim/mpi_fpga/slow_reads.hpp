// SPDX-License-Identifier: Apache-2.0
// Reads that take more than one cycle per flit, during which buffer space stays reserved; C++ model of
// rtl/mpi_fpga/tw_slow_reads.sv.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/bits.hpp"
#include "core/types.hpp"

namespace thalweg::mpi_fpga {

/// A packet being read, one flit per `pace` cycles.
struct SlowPacket {
  Tick from = 0;
  unsigned flits = 0, pace = 1;

  [[nodiscard]] Tick until() const { return from + Tick{pace} * flits; }
  /// Unread flits, which must not be overwritten in this cycle.
  [[nodiscard]] unsigned unread(Tick now) const {
    return static_cast<unsigned>(now < until() ? flits - (now - from) / pace : 0);
  }
};

/// A packet of n flits, read at p cycles per flit, cannot be overtaken by writes of one flit per cycle once n (p - 1)
/// cycles have passed: its room is held until then. A unit reads one packet of each member of an entry at a time, so
/// one timer per unit suffices.
class SlowReads {
 public:
  explicit SlowReads(unsigned units) : reads_(units) {}

  /// A unit starts to read from `members` (bits) of entry `place`; their room is held from the next cycle until
  /// `until`.
  void begin(unsigned unit, std::uint32_t place, Wide members, Tick until) {
    reads_[unit] = {until, place, members};
    last_ = std::max(last_, until);
  }
  /// Members of the entry whose room is held, as bits.
  [[nodiscard]] Wide held(std::uint32_t place, Tick now) const {
    Wide held = 0;
    if (last_ <= now) return held;
    for (const Read& read : reads_)
      if (read.until > now && read.place == place) held |= read.members;
    return held;
  }
  /// True if some room is released in the next cycle.
  [[nodiscard]] bool freed(Tick now) const {
    return last_ > now && std::ranges::any_of(reads_, [&](const Read& read) { return read.until == now + 1; });
  }

 private:
  struct Read {
    Tick until = 0;
    std::uint32_t place = 0;
    Wide members = 0;
  };

  std::vector<Read> reads_;  ///< per unit
  Tick last_ = 0;            ///< when all of these have ended
};

}  // namespace thalweg::mpi_fpga
