// SPDX-License-Identifier: Apache-2.0
// Unpacks a packet's elements, one per cycle, C++ model of rtl/smi/tw_unpacker.sv.
#pragma once

#include <cstdint>

#include "smi/packet.hpp"

namespace thalweg::smi {

class Unpacker {
 public:
  [[nodiscard]] bool valid() const { return left_ > 0; }
  [[nodiscard]] std::uint64_t element() const { return element_; }
  /// Ready for a packet. `taken`: the element is taken in this cycle.
  [[nodiscard]] bool ready(bool taken) const { return left_ == 0 || (left_ == 1 && taken); }

  /// One clock edge. Elements have 1 << `size` bytes and are zero-extended.
  void step(const Packet* packet, unsigned size, bool taken) {
    const bool accepted = packet && ready(taken);
    if (left_ > 0 && taken) --left_, ++at_;
    if (accepted) {
      packet_ = *packet;
      left_ = packet->count();
      at_ = 0;
    }
    if (left_ > 0) element_ = packet_.element(at_, size);
  }

 private:
  Packet packet_;
  unsigned left_ = 0, at_ = 0;
  std::uint64_t element_ = 0;
};

}  // namespace thalweg::smi
