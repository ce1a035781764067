// SPDX-License-Identifier: Apache-2.0
// Packets of SMI: 32 bytes, or the cluster's packet size, with a header of four bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/types.hpp"
#include "thalweg_smi_spec.hpp"

namespace thalweg::smi {

inline constexpr unsigned kHeaderBytes = 4, kMaxPacketBytes = 64, kMaxElements = 31;
inline constexpr unsigned kMaxRanks = 256, kMaxPorts = 256;
inline constexpr unsigned kWholeMessages =
    1U << 31;  ///< maximum number of further packets in a circuit if every message is one circuit

/// Operation field of a packet's header (spec/smi/packets).
enum class Operation : std::uint8_t { send, receive, broadcast, synch, scatter, reduce, gather, circuit };

/// Bytes beyond the cluster's packet size are zero.
struct Packet {
  Word<kMaxPacketBytes * 8> data{};

  friend bool operator==(const Packet&, const Packet&) = default;

  [[nodiscard]] unsigned source() const { return spec::smi_header::source(data[0]); }
  [[nodiscard]] unsigned destination() const { return spec::smi_header::destination(data[0]); }
  [[nodiscard]] unsigned port() const { return spec::smi_header::port(data[0]); }
  [[nodiscard]] Operation operation() const { return static_cast<Operation>(spec::smi_header::operation(data[0])); }
  [[nodiscard]] unsigned count() const { return spec::smi_header::count(data[0]); }
  /// True for control packets (credits, ready); false for data packets.
  [[nodiscard]] bool control() const { return operation() == Operation::synch; }

  void set_header(unsigned source, unsigned destination, unsigned port, Operation operation, unsigned count) {
    const spec::SmiHeader header{static_cast<std::uint8_t>(source), static_cast<std::uint8_t>(destination),
                                 static_cast<std::uint8_t>(port), static_cast<std::uint8_t>(operation),
                                 static_cast<std::uint8_t>(count)};
    data[0] = (data[0] >> 32 << 32) | header.pack();
  }

  /// The element at `index`, of 1 << `size` bytes, zero-extended.
  [[nodiscard]] std::uint64_t element(unsigned index, unsigned size) const {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes() + kHeaderBytes + (index << size), std::size_t{1} << size);
    return value;
  }
  void set_element(unsigned index, unsigned size, std::uint64_t value) {
    std::memcpy(bytes() + kHeaderBytes + (index << size), &value, std::size_t{1} << size);
  }
  /// Grant of a control packet (bytes 4 to 7).
  [[nodiscard]] std::uint32_t grant() const { return static_cast<std::uint32_t>(element(0, 2)); }
  void set_grant(std::uint32_t grant) { set_element(0, 2, grant); }

  /// Element `index` of a packet within a circuit: bytes beyond the end of the `packet_bytes` bytes wrap around into the bytes of
  /// the header, so that an index has the same byte lanes with and without a header.
  [[nodiscard]] std::uint64_t payload(unsigned index, unsigned size, unsigned packet_bytes) const {
    std::uint64_t value = 0;
    auto* const to = reinterpret_cast<std::byte*>(&value);
    const auto [at, here, again, rest] = split(index, size, packet_bytes);
    if (rest == 0) [[likely]] {
      copy(to, bytes() + at, size);
      return value;
    }
    std::memcpy(to, bytes() + at, here);
    std::memcpy(to + here, bytes() + again, rest);
    return value;
  }
  void set_payload(unsigned index, unsigned size, unsigned packet_bytes, std::uint64_t value) {
    const auto* const from = reinterpret_cast<const std::byte*>(&value);
    const auto [at, here, again, rest] = split(index, size, packet_bytes);
    if (rest == 0) [[likely]]
      return copy(bytes() + at, from, size);
    std::memcpy(bytes() + at, from, here);
    std::memcpy(bytes() + again, from + here, rest);
  }
  /// Header of a circuit's first packet: number of packets and elements that follow.
  [[nodiscard]] spec::SmiCircuit circuit() const {
    return spec::SmiCircuit::unpack(std::span<const std::uint64_t, 2>(data.data(), 2));
  }
  void set_circuit(unsigned source, unsigned destination, unsigned port, std::uint32_t packets,
                   std::uint32_t elements) {
    const spec::SmiCircuit first{static_cast<std::uint8_t>(source), static_cast<std::uint8_t>(destination),
                                 static_cast<std::uint8_t>(port), packets, elements};
    std::ranges::copy(first.pack(), data.begin());
  }

 private:
  struct Split {
    unsigned at, here;     ///< offset and bytes before the packet's end
    unsigned again, rest;  ///< offset and bytes after wrapping around to its start
  };
  [[nodiscard]] static constexpr Split split(unsigned index, unsigned size, unsigned packet_bytes) {
    const unsigned first = kHeaderBytes + (index << size), bytes = 1U << size, at = std::min(first, packet_bytes);
    const unsigned here = std::min(bytes, packet_bytes - at);
    return {at, here, first - at, bytes - here};
  }
  /// Copies 1 << `size` bytes, of a number that is known in each case.
  static void copy(std::byte* to, const std::byte* from, unsigned size) {
    switch (size) {
      case 0:
        *to = *from;
        break;
      case 1:
        std::memcpy(to, from, 2);
        break;
      case 2:
        std::memcpy(to, from, 4);
        break;
      default:
        std::memcpy(to, from, 8);
        break;
    }
  }
  [[nodiscard]] const std::byte* bytes() const { return reinterpret_cast<const std::byte*>(data.data()); }
  [[nodiscard]] std::byte* bytes() { return reinterpret_cast<std::byte*>(data.data()); }
};

/// Maximum elements of 1 << `size` bytes in a packet with a header.
[[nodiscard]] constexpr unsigned max_elements(unsigned packet_bytes, unsigned size) {
  const unsigned fit = (packet_bytes - kHeaderBytes) >> size;
  return fit < kMaxElements ? fit : kMaxElements;
}

/// Elements of 1 << `size` bytes in a packet within a circuit.
[[nodiscard]] constexpr unsigned payload_elements(unsigned packet_bytes, unsigned size) {
  return packet_bytes >> size;
}

}  // namespace thalweg::smi
