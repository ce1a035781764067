// SPDX-License-Identifier: Apache-2.0
// What a host with an IPv4 address answers by itself: requests of ARP (RFC 826) for its address, and echo requests of ICMP (RFC 792), as `ping` sends
// them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "ethernet/frame.hpp"
#include "ethernet/udp.hpp"

namespace thalweg::ethernet {

inline constexpr std::uint16_t kArp = 0x0806;
inline constexpr unsigned kArpBytes = 28;
inline constexpr std::uint8_t kIcmp = 1;  ///< protocol of IPv4

/// Who a frame's sender says that it is: its IPv4 address and its Ethernet address. Of packets of ARP and IPv4; none of others.
[[nodiscard]] inline std::optional<std::pair<std::uint32_t, Address>> sender_of(const Frame& frame) {
  const auto bytes = frame.payload();
  if (frame.type() == kArp && bytes.size() >= kArpBytes)
    return std::pair{detail::get_network(bytes.subspan(14, 4)), frame.source()};
  if (frame.type() == kIpv4 && bytes.size() >= kIpv4Header)
    return std::pair{detail::get_network(bytes.subspan(12, 4)), frame.source()};
  return std::nullopt;
}

/// The answer to a frame, from the host with these addresses; none where it asks for nothing that this host answers.
[[nodiscard]] inline std::optional<FrameRef> answer(Frames& frames, const UdpEnd& own, const Frame& frame) {
  const auto asked = frame.payload();
  const auto field = [&](std::size_t at, std::size_t size) { return detail::get_network(asked.subspan(at, size)); };
  if (frame.type() == kArp) {
    // Ethernet, IPv4, addresses of 6 and 4 bytes, a request.
    if (asked.size() < kArpBytes || field(0, 4) != 0x0001'0800 || field(4, 4) != 0x0604'0001 || field(24, 4) != own.ip)
      return std::nullopt;
    return frames.make(frame.source(), own.address, kArp, kArpBytes, [&](std::span<std::byte> made) {
      std::copy_n(asked.begin(), 6, made.begin());
      detail::put_network(made.subspan(6, 2), 2);
      detail::put_network(made.subspan(8, 6), own.address);
      detail::put_network(made.subspan(14, 4), own.ip);
      std::copy_n(asked.begin() + 8, 10, made.begin() + 18);
    });
  }
  if (frame.type() != kIpv4 || frame.destination() != own.address || asked.size() < kIpv4Header + 8)
    return std::nullopt;
  const auto total = field(2, 2);
  if (asked[0] != std::byte{0x45} || asked[9] != std::byte{kIcmp} || (field(6, 2) & 0xBFFF) != 0 ||
      total < kIpv4Header + 8 || total > asked.size() || field(16, 4) != own.ip ||
      detail::checksum(asked.first(kIpv4Header)) != 0 || field(kIpv4Header, 2) != 0x0800 ||
      detail::checksum(asked.subspan(kIpv4Header, total - kIpv4Header)) != 0)
    return std::nullopt;
  return frames.make(frame.source(), own.address, kIpv4, total, [&](std::span<std::byte> made) {
    std::copy_n(asked.begin(), total, made.begin());
    detail::put_network(made.subspan(8, 1), 64);
    std::copy_n(asked.begin() + 12, 4, made.begin() + 16);
    detail::put_network(made.subspan(12, 4), own.ip);
    detail::put_network(made.subspan(10, 2), 0);
    detail::put_network(made.subspan(10, 2), detail::checksum(made.first(kIpv4Header)));
    const auto icmp = made.subspan(kIpv4Header);
    detail::put_network(icmp.first(4), 0);  // an echo reply; the checksum follows
    detail::put_network(icmp.subspan(2, 2), detail::checksum(icmp));
  });
}

}  // namespace thalweg::ethernet
