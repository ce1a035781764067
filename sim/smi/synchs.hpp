// SPDX-License-Identifier: Apache-2.0
// Counts synchronization packets by source rank, C++ model of rtl/smi/tw_synchs.sv.
#pragma once

#include <array>
#include <cstdint>

#include "smi/packet.hpp"

namespace thalweg::smi {

/// Counts at most three pending packets per rank. `there()` refers to the rank selected in the previous cycle.
class Synchs {
 public:
  [[nodiscard]] bool there() const { return there_; }
  /// True if a step without input and with the same rank changes nothing.
  [[nodiscard]] bool settled() const { return !changed_ && there_ == pending(asked_); }
  [[nodiscard]] unsigned asked() const { return asked_; }

  /// One clock edge. `use`: consumes a packet of the rank selected in the previous cycle.
  void step(const Packet* synch, unsigned ask, bool use) {
    if (use) ++used_[asked_];
    changed_ = there_ != pending(ask);
    there_ = pending(ask);
    asked_ = ask;
    if (synch) ++arrived_[synch->source()];
  }

 private:
  [[nodiscard]] bool pending(unsigned rank) const { return ((arrived_[rank] - used_[rank]) & 3) != 0; }

  std::array<std::uint8_t, kMostRanks> arrived_{}, used_{};
  unsigned asked_ = 0;
  bool there_ = false, changed_ = false;
};

}  // namespace thalweg::smi
