// SPDX-License-Identifier: Apache-2.0
// What moves in a cluster of SMI: packets of 32 bytes, or of what the cluster says, four of them a header.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/types.hpp"

namespace thalweg::smi {

inline constexpr unsigned kHeaderBytes = 4, kMostPacketBytes = 64, kMostElements = 31;
inline constexpr unsigned kMostRanks = 256, kMostPorts = 256;

/// A packet's header: source, destination, port, and the elements' count above the operation.
enum class Operation : std::uint8_t { send, receive, broadcast, synch, scatter, reduce, gather };

/// Bytes behind those that packets of the cluster have are zero.
struct Packet {
  Word<kMostPacketBytes * 8> data{};

  friend bool operator==(const Packet&, const Packet&) = default;

  [[nodiscard]] unsigned source() const { return byte(0); }
  [[nodiscard]] unsigned destination() const { return byte(1); }
  [[nodiscard]] unsigned port() const { return byte(2); }
  [[nodiscard]] Operation operation() const { return static_cast<Operation>(byte(3) & 7); }
  [[nodiscard]] unsigned count() const { return byte(3) >> 3; }
  /// Is it for what sends, or coordinates: credits, or that somebody is ready? The others carry elements.
  [[nodiscard]] bool control() const { return operation() == Operation::synch; }

  void set_header(unsigned source, unsigned destination, unsigned port, Operation operation, unsigned count) {
    const std::uint64_t header =
        source | destination << 8 | port << 16 | (static_cast<unsigned>(operation) | count << 3) << 24;
    data[0] = (data[0] >> 32 << 32) | (header & 0xFFFFFFFF);
  }

  /// The element at `index`, of 1 << `size` bytes, in the lowest bytes; those above are zero.
  [[nodiscard]] std::uint64_t element(unsigned index, unsigned size) const {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes() + kHeaderBytes + (index << size), std::size_t{1} << size);
    return value;
  }
  void set_element(unsigned index, unsigned size, std::uint64_t value) {
    std::memcpy(bytes() + kHeaderBytes + (index << size), &value, std::size_t{1} << size);
  }
  /// Of a packet of control: how much it grants (bytes 4 to 7).
  [[nodiscard]] std::uint32_t grant() const { return static_cast<std::uint32_t>(element(0, 2)); }
  void set_grant(std::uint32_t grant) { set_element(0, 2, grant); }

 private:
  [[nodiscard]] unsigned byte(unsigned index) const { return static_cast<unsigned>(data[0] >> 8 * index & 0xFF); }
  [[nodiscard]] const std::byte* bytes() const { return reinterpret_cast<const std::byte*>(data.data()); }
  [[nodiscard]] std::byte* bytes() { return reinterpret_cast<std::byte*>(data.data()); }
};

/// Elements of 1 << `size` bytes that a packet holds.
[[nodiscard]] constexpr unsigned most_elements(unsigned packet_bytes, unsigned size) {
  const unsigned fit = (packet_bytes - kHeaderBytes) >> size;
  return fit < kMostElements ? fit : kMostElements;
}

}  // namespace thalweg::smi
