// SPDX-License-Identifier: Apache-2.0
// UDP over IPv4 in Ethernet frames: RFC 768 and 791, without options, fragments and UDP checksum (optional with IPv4).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "ethernet/frame.hpp"

namespace thalweg::ethernet {

inline constexpr std::uint16_t kIpv4 = 0x0800;
inline constexpr unsigned kIpv4Header = 20, kUdpHeader = 8;
inline constexpr unsigned kUdpHeaders = kHeader + kIpv4Header + kUdpHeader;
inline constexpr std::uint8_t kUdp = 17;  ///< IPv4 protocol number

/// A UDP endpoint: Ethernet address, IPv4 address and port.
struct UdpEnd {
  Address address = 0;
  std::uint32_t ip = 0;
  std::uint16_t port = 0;

  friend bool operator==(const UdpEnd&, const UdpEnd&) = default;
};

namespace detail {

inline void put_network(std::span<std::byte> to, std::uint64_t value) {
  for (std::size_t k = to.size(); k-- > 0; value >>= 8) to[k] = static_cast<std::byte>(value & 0xFF);
}
[[nodiscard]] inline std::uint32_t get_network(std::span<const std::byte> from) {
  std::uint32_t value = 0;
  for (const std::byte byte : from) value = value << 8 | std::to_integer<std::uint32_t>(byte);
  return value;
}
/// One's complement sum of 16-bit words in network order, the last one padded with zero, as 16 bits.
[[nodiscard]] inline std::uint32_t ones_sum(std::span<const std::byte> bytes) {
  std::uint64_t sum = 0;
  std::size_t at = 0;
  for (; at + 4 <= bytes.size(); at += 4) {
    std::uint32_t word;
    std::memcpy(&word, bytes.data() + at, 4);
    sum += word;
  }
  std::uint32_t rest = 0;
  std::memcpy(&rest, bytes.data() + at, bytes.size() - at);
  sum += rest;
  while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
  auto folded = static_cast<std::uint32_t>(sum);
  if constexpr (std::endian::native == std::endian::little) folded = (folded >> 8 | folded << 8) & 0xFFFF;
  return folded;
}
/// Its complement (RFC 1071): 0 over bytes with a right checksum.
[[nodiscard]] inline std::uint16_t checksum(std::span<const std::byte> bytes) {
  return static_cast<std::uint16_t>(~ones_sum(bytes));
}
/// Writes an IPv4 header without options, for a packet of `total` bytes.
inline void put_ipv4(std::span<std::byte> to, std::size_t total, std::uint8_t protocol, std::uint32_t from_ip,
                     std::uint32_t to_ip) {
  const auto field = [to](std::size_t at, std::size_t count, std::uint64_t value) {
    put_network(to.subspan(at, count), value);
  };
  field(0, 2, 0x4500);
  field(2, 2, total);
  field(4, 2, 0);
  field(6, 2, 0x4000);  // don't fragment
  field(8, 1, 64);
  field(9, 1, protocol);
  field(10, 2, 0);
  field(12, 4, from_ip);
  field(16, 4, to_ip);
  field(10, 2, checksum(to.first(kIpv4Header)));
}

}  // namespace detail

/// Makes a frame with a datagram of `size` bytes of payload, written by `fill`.
template <class Fill>
[[nodiscard]] FrameRef make_udp(Frames& frames, const UdpEnd& from, const UdpEnd& to, std::size_t size, Fill&& fill) {
  return frames.make(to.address, from.address, kIpv4, kIpv4Header + kUdpHeader + size, [&](std::span<std::byte> bytes) {
    const auto ip = bytes.first(kIpv4Header), udp = bytes.subspan(kIpv4Header, kUdpHeader);
    detail::put_ipv4(ip, bytes.size(), kUdp, from.ip, to.ip);
    const auto field = [udp](std::size_t at, std::size_t count, std::uint64_t value) {
      detail::put_network(udp.subspan(at, count), value);
    };
    field(0, 2, from.port);
    field(2, 2, to.port);
    field(4, 2, kUdpHeader + size);
    field(6, 2, 0);
    fill(bytes.subspan(kIpv4Header + kUdpHeader, size));
  });
}

/// Header fields of a datagram.
struct UdpHeading {
  UdpEnd from, to;
  std::size_t size = 0;  ///< bytes of payload
};

/// Parses a frame's first bytes; none if they are no headers of a UDP datagram, or the IPv4 checksum is wrong. The
/// frame may be truncated.
[[nodiscard]] inline std::optional<UdpHeading> udp_heading_of(std::span<const std::byte> frame) {
  if (frame.size() < kUdpHeaders) return std::nullopt;
  const auto field = [&](std::size_t at, std::size_t size) { return detail::get_network(frame.subspan(at, size)); };
  const auto address = [&](std::size_t at) { return Address{field(at, 2)} << 32 | field(at + 2, 4); };
  const auto ip = frame.subspan(kHeader, kIpv4Header);
  const auto total = field(16, 2);
  if (field(12, 2) != kIpv4 || ip[0] != std::byte{0x45} || ip[9] != std::byte{kUdp} || (field(20, 2) & 0xBFFF) != 0 ||
      detail::checksum(ip) != 0 || total < kIpv4Header + kUdpHeader || field(38, 2) != total - kIpv4Header)
    return std::nullopt;
  return UdpHeading{.from = {address(6), field(26, 4), static_cast<std::uint16_t>(field(34, 2))},
                    .to = {address(0), field(30, 4), static_cast<std::uint16_t>(field(36, 2))},
                    .size = total - kIpv4Header - kUdpHeader};
}

/// A datagram in a frame.
struct Datagram {
  UdpEnd from, to;
  std::span<const std::byte> payload;  ///< points into the frame
};

/// The datagram in a frame; none if it is no complete UDP datagram, or the IPv4 checksum is wrong.
[[nodiscard]] inline std::optional<Datagram> udp_of(const Frame& frame) {
  const auto heading = udp_heading_of(frame.bytes());
  if (!heading || kUdpHeaders + heading->size > frame.size()) return std::nullopt;
  return Datagram{
      .from = heading->from, .to = heading->to, .payload = frame.bytes().subspan(kUdpHeaders, heading->size)};
}

}  // namespace thalweg::ethernet
