// SPDX-License-Identifier: Apache-2.0
// TCP segments over IPv4 in Ethernet frames: RFC 9293, with the options for maximum segment size and window scaling
// (RFC 7323). Checksums are generated and verified. IPv4 has no options and no fragments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "ethernet/frame.hpp"
#include "ethernet/udp.hpp"

namespace thalweg::ethernet {

inline constexpr std::uint8_t kTcp = 6;     ///< IPv4 protocol number
inline constexpr unsigned kTcpHeader = 20;  ///< without options
inline constexpr unsigned kTcpHeaders = kHeader + kIpv4Header + kTcpHeader;
inline constexpr unsigned kMostSegment = kMost - kTcpHeaders;  ///< bytes of data
inline constexpr unsigned kDefaultSegment = 536;               ///< without the option (RFC 9293, section 3.7.1)
inline constexpr unsigned kMostShift = 14;                     ///< of window scaling (RFC 7323, section 2.3)

/// Header of a segment.
struct TcpHeading {
  std::uint32_t sequence = 0, acknowledgement = 0;
  bool fin = false, syn = false, rst = false, psh = false, ack = false;
  std::uint16_t window = 0;             ///< as in the header, unscaled
  std::optional<std::uint16_t> most{};  ///< option: maximum segment size that its sender accepts
  std::optional<std::uint8_t> shift{};  ///< option: window scale of its sender
};

/// A segment in a frame.
struct TcpSegment {
  UdpEnd from, to;
  TcpHeading heading;
  std::span<const std::byte> data;  ///< points into the frame
  bool right = true;                ///< its checksum is right
};

namespace detail {

/// Checksum of a segment with its pseudo header; 0 if the contained checksum is right.
[[nodiscard]] inline std::uint16_t tcp_checksum(std::span<const std::byte> addresses,
                                                std::span<const std::byte> segment) {
  std::uint32_t sum = ones_sum(addresses) + kTcp + static_cast<std::uint32_t>(segment.size()) + ones_sum(segment);
  while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

}  // namespace detail

/// Makes a frame with a segment of `size` bytes of data, written by `fill`.
template <class Fill>
[[nodiscard]] FrameRef make_tcp(Frames& frames, const UdpEnd& from, const UdpEnd& to, const TcpHeading& heading,
                                std::size_t size, Fill&& fill) {
  const std::size_t options = (heading.most ? 4 : 0) + (heading.shift ? 4 : 0);
  const std::size_t total = kIpv4Header + kTcpHeader + options + size;
  return frames.make(to.address, from.address, kIpv4, total, [&](std::span<std::byte> bytes) {
    const auto ip = bytes.first(kIpv4Header), tcp = bytes.subspan(kIpv4Header);
    detail::put_ipv4(ip, total, kTcp, from.ip, to.ip);
    const auto field = [tcp](std::size_t at, std::size_t count, std::uint64_t value) {
      detail::put_network(tcp.subspan(at, count), value);
    };
    field(0, 2, from.port);
    field(2, 2, to.port);
    field(4, 4, heading.sequence);
    field(8, 4, heading.ack ? heading.acknowledgement : 0);
    field(12, 1, (kTcpHeader + options) / 4 << 4);
    field(13, 1,
          (heading.fin ? 1 : 0) | (heading.syn ? 2 : 0) | (heading.rst ? 4 : 0) | (heading.psh ? 8 : 0) |
              (heading.ack ? 16 : 0));
    field(14, 2, heading.window);
    field(16, 4, 0);
    std::size_t at = kTcpHeader;
    if (heading.most) {
      field(at, 4, 0x0204'0000U | *heading.most);
      at += 4;
    }
    if (heading.shift) {
      field(at, 4, 0x0103'0300U | *heading.shift);  // a NOP, then the option
      at += 4;
    }
    fill(tcp.subspan(at, size));
    field(16, 2, detail::tcp_checksum(ip.subspan(12, 8), tcp));
  });
}

/// True if a frame's headers name TCP and these Ethernet and IPv4 addresses.
[[nodiscard]] inline bool is_tcp_to(const Frame& frame, const UdpEnd& own) {
  const auto bytes = frame.bytes();
  if (bytes.size() < kTcpHeaders || frame.type() != kIpv4 || frame.destination() != own.address) return false;
  return bytes[23] == std::byte{kTcp} && detail::get_network(bytes.subspan(30, 4)) == own.ip;
}
/// The segment in a frame; none if it is incomplete or the IPv4 checksum is wrong.
[[nodiscard]] inline std::optional<TcpSegment> tcp_of(const Frame& frame) {
  const auto bytes = frame.bytes();
  if (bytes.size() < kTcpHeaders) return std::nullopt;
  const auto field = [&](std::size_t at, std::size_t size) { return detail::get_network(bytes.subspan(at, size)); };
  const auto ip = bytes.subspan(kHeader, kIpv4Header);
  const auto total = field(16, 2);
  if (field(12, 2) != kIpv4 || ip[0] != std::byte{0x45} || ip[9] != std::byte{kTcp} || (field(20, 2) & 0xBFFF) != 0 ||
      detail::checksum(ip) != 0 || total < kIpv4Header + kTcpHeader || kHeader + total > bytes.size())
    return std::nullopt;
  const auto tcp = bytes.subspan(kHeader + kIpv4Header, total - kIpv4Header);
  const auto of = [&](std::size_t at, std::size_t size) { return detail::get_network(tcp.subspan(at, size)); };
  const std::size_t header = (of(12, 1) >> 4) * 4;
  if (header < kTcpHeader || header > tcp.size()) return std::nullopt;
  const auto flags = of(13, 1);
  TcpSegment made{.from = {frame.source(), field(26, 4), static_cast<std::uint16_t>(of(0, 2))},
                  .to = {frame.destination(), field(30, 4), static_cast<std::uint16_t>(of(2, 2))},
                  .heading = {.sequence = of(4, 4),
                              .acknowledgement = of(8, 4),
                              .fin = (flags & 1) != 0,
                              .syn = (flags & 2) != 0,
                              .rst = (flags & 4) != 0,
                              .psh = (flags & 8) != 0,
                              .ack = (flags & 16) != 0,
                              .window = static_cast<std::uint16_t>(of(14, 2))},
                  .data = tcp.subspan(header),
                  .right = detail::tcp_checksum(ip.subspan(12, 8), tcp) == 0};
  for (std::size_t at = kTcpHeader; at < header;) {
    const auto kind = of(at, 1);
    if (kind == 0) break;
    if (kind == 1) {
      ++at;
      continue;
    }
    const auto size = at + 1 < header ? of(at + 1, 1) : 0;
    if (size < 2 || at + size > header) break;
    if (kind == 2 && size == 4) made.heading.most = static_cast<std::uint16_t>(of(at + 2, 2));
    if (kind == 3 && size == 3)
      made.heading.shift = static_cast<std::uint8_t>(std::min<std::uint32_t>(of(at + 2, 1), kMostShift));
    at += size;
  }
  return made;
}

}  // namespace thalweg::ethernet
