// SPDX-License-Identifier: Apache-2.0
// Counts synchronization packets by source rank, C++ model of rtl/smi/tw_synchs.sv.
#pragma once

#include <array>
#include <cstdint>

#include "smi/packet.hpp"

namespace thalweg::smi {

/// Three of a rank at most are kept. `there()` is about the rank that was asked for in the cycle before.
class Synchs {
 public:
  [[nodiscard]] bool there() const { return there_; }
  /// As long as nothing comes, and the same rank is asked for, does a step change nothing?
  [[nodiscard]] bool settled() const { return !changed_ && there_ == pending(asked_); }
  [[nodiscard]] unsigned asked() const { return asked_; }

  /// One clock edge. `used`: one of the rank that was asked for in the cycle before.
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
