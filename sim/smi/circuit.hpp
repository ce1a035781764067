// SPDX-License-Identifier: Apache-2.0
// Tracks the circuits at an input of a send or receive kernel, C++ model of rtl/smi/tw_circuit.sv.
#pragma once

#include <cstdint>

#include "smi/packet.hpp"
#include "switch/poller.hpp"

namespace thalweg::smi {

/// State of a circuit: its first packet gives the number and route of the following packets, which have no header.
class Circuit {
 public:
  using Offer = Poller<Packet>::Offer;

  /// True if the next packet belongs to an open circuit and has no header.
  [[nodiscard]] bool inside() const { return left_ > 0; }
  /// The offer for a packet; `to`: the table's output for its header.
  [[nodiscard]] Offer offer(const Packet& packet, unsigned to) const {
    return left_ > 0 ? Offer{packet, to_, left_ == 1} : Offer{packet, to, packet.operation() != Operation::circuit};
  }
  /// One clock edge at which the offered packet is accepted.
  void step(const Offer& taken) {
    if (left_ > 0) {
      --left_;
    } else if (!taken.last) {
      left_ = taken.word.circuit().packets;
      to_ = taken.to;
    }
  }

 private:
  std::uint32_t left_ = 0;  ///< remaining packets of the circuit
  unsigned to_ = 0;
};

}  // namespace thalweg::smi
