// SPDX-License-Identifier: Apache-2.0
// Random packets of SMI, and writes to tables.
#pragma once

#include "bisim/dice.hpp"
#include "smi/packet_ports.hpp"

namespace blocks {

using thalweg::smi::Operation;

/// Random contents without a header.
template <unsigned Bytes>
[[nodiscard]] Packet random_packet(bisim::Dice& dice) {
  Packet packet;
  for (unsigned i = 0; i < Bytes / 8; ++i) packet.data[i] = dice.bits();
  return packet;
}

/// The inputs of a kernel: packets, and circuits.
template <unsigned Bytes>
class Arrivals {
 public:
  /// `header(packet)`: for packets outside a circuit.
  template <class Header>
  [[nodiscard]] Packet next(bisim::Dice& dice, bool circuits, const Header& header) {
    auto packet = random_packet<Bytes>(dice);
    if (left_ > 0) {
      --left_;
      return packet;
    }
    header(packet);
    if (circuits && (packet.operation() == Operation::circuit || dice.chance(300))) {
      left_ = 1 + dice.below(dice.chance(500) ? 2 : 40);
      packet.set_circuit(packet.source(), packet.destination(), packet.port(), left_,
                         static_cast<unsigned>(dice.bits()));
    }
    return packet;
  }

 private:
  unsigned left_ = 0;
};

/// Writes all entries of a table, then sometimes some again.
class TableWriter {
 public:
  explicit TableWriter(unsigned entries) : entries_(entries) {}

  [[nodiscard]] bool done() const { return written_ == entries_; }
  /// `outputs`: upper bound of most written values.
  template <class Inputs>
  void drive(bisim::Dice& dice, unsigned outputs, Inputs& next) {
    const bool again = done() && dice.chance(20);
    if (done() && !again) return;
    next.table_valid_i.set(true);
    next.table_index_i.set(again ? dice.below(entries_) : written_++);
    next.table_data_i.set(dice.chance(20) ? dice.below(256) : dice.below(outputs));
  }

 private:
  unsigned entries_, written_ = 0;
};

}  // namespace blocks
