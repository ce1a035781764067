// SPDX-License-Identifier: Apache-2.0
// Tracks the circuits at an input of a send or receive kernel, C++ model of rtl/smi/tw_circuit.sv.
#pragma once

#include <cstdint>

#include "smi/packet.hpp"
#include "switch/poller.hpp"

namespace thalweg::smi {

/// What a circuit's first packet says of those that follow, which have no header.
class Circuit {
 public:
  using Offer = Poller<Packet>::Offer;

  /// Is the next packet one that follows?
  [[nodiscard]] bool inside() const { return left_ > 0; }
  /// Of a packet that is shown, and the output that the table has for its header.
  [[nodiscard]] Offer offer(const Packet& packet, unsigned to) const {
    return left_ > 0 ? Offer{packet, to_, left_ == 1} : Offer{packet, to, packet.operation() != Operation::circuit};
  }
  /// One clock edge at which the packet of an offer is taken.
  void step(const Offer& taken) {
    if (left_ > 0) {
      --left_;
    } else if (!taken.last) {
      left_ = taken.word.circuit().packets;
      to_ = taken.to;
    }
  }

 private:
  std::uint32_t left_ = 0;  ///< packets
  unsigned to_ = 0;
};

}  // namespace thalweg::smi
