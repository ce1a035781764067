// SPDX-License-Identifier: Apache-2.0
// Counts synchronization packets by source rank, C++ model of rtl/smi/tw_synchs.sv.
#pragma once

#include <array>
#include <cstdint>

#include "smi/packet.hpp"

namespace thalweg::smi {

/// Counts at most three pending packets per rank. `available()` refers to the rank selected in the previous cycle.
class Synchs {
 public:
  [[nodiscard]] bool available() const { return available_; }
  /// True if a step without input and with the same rank changes nothing.
  [[nodiscard]] bool settled() const { return !changed_ && available_ == pending(queried_); }
  [[nodiscard]] unsigned queried() const { return queried_; }

  /// One clock edge. `use`: consumes a packet of the rank selected in the previous cycle.
  void step(const Packet* synch, unsigned query, bool use) {
    if (use) ++used_[queried_];
    changed_ = available_ != pending(query);
    available_ = pending(query);
    queried_ = query;
    if (synch) ++arrived_[synch->source()];
  }

 private:
  [[nodiscard]] bool pending(unsigned rank) const { return ((arrived_[rank] - used_[rank]) & 3) != 0; }

  std::array<std::uint8_t, kMaxRanks> arrived_{}, used_{};
  unsigned queried_ = 0;
  bool available_ = false, changed_ = false;
};

}  // namespace thalweg::smi
