// SPDX-License-Identifier: Apache-2.0
// Packs elements into packets, C++ model of rtl/smi/tw_packer.sv.
#pragma once

#include <cstdint>

#include "smi/packet.hpp"

namespace thalweg::smi {

/// The bits of an element of 1 << `size` bytes.
[[nodiscard]] constexpr std::uint64_t element_bits(unsigned size) {
  return ~std::uint64_t{0} >> (64 - (8U << size));
}

/// Sets only the count in a packet's header; packets within a circuit have no header. Bytes after the elements are zero.
class Packer {
 public:
  explicit Packer(unsigned packet_bytes = kMaxPacketBytes) : packet_bytes_(packet_bytes) {}

  /// A packet, and whether it is the last of its message.
  struct Part {
    Packet packet;
    bool last = false;
  };

  /// Ready for an element. `taken`: the packet is taken in this cycle.
  [[nodiscard]] bool ready(bool taken) const { return !full_ || taken; }
  [[nodiscard]] const Part* part() const { return full_ ? &part_ : nullptr; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  /// Elements of the packet.
  [[nodiscard]] unsigned count() const { return count_; }

  /// One clock edge. `last`: the element ends its packet, which is the last one. `circuit`: the packet has no header.
  void step(const std::uint64_t* element, unsigned size, unsigned per_packet, bool last, bool taken,
            bool circuit = false) {
    const bool accepted = element && ready(taken);
    if (full_ && taken) full_ = false, count_ = 0;
    if (!accepted) return;
    if (count_ == 0) part_.packet = {};
    part_.packet.set_payload(count_, size, packet_bytes_, *element);
    ++count_;
    if (!circuit) part_.packet.set_header(0, 0, 0, Operation::send, count_);
    part_.last = last;
    full_ = last || count_ >= per_packet;
  }

 private:
  unsigned packet_bytes_;
  Part part_;
  unsigned count_ = 0;
  bool full_ = false;
};

}  // namespace thalweg::smi
