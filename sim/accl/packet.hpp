// SPDX-License-Identifier: Apache-2.0
// Packets between engines as datagrams (spec/accl/packets).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "ethernet/frame.hpp"
#include "ethernet/udp.hpp"
#include "thalweg_accl_spec.hpp"

namespace thalweg::accl {

inline constexpr unsigned kWord = 64;          ///< bytes per cycle of the data path
inline constexpr unsigned kPacketHeader = 64;  ///< bytes
/// Bits of an acknowledgement's `stream`.
inline constexpr unsigned kAsks = 1, kKnows = 2, kOther = 4;

/// Lane of a session. `messages`: packets that may wait for receive buffers, and stream packets to kernels, in order
/// with them. `others`: all other packets.
enum class Lane : std::uint8_t { messages, others };
[[nodiscard]] constexpr Lane lane_of(const spec::AcclPacket& packet) {
  using enum spec::MessageKind;
  if (packet.kind >= greeting) return (packet.stream & kOther) != 0 ? Lane::others : Lane::messages;
  return packet.kind <= stream ? Lane::messages : Lane::others;
}

/// Returns the header of a datagram's payload; none if it has no valid header.
[[nodiscard]] inline std::optional<spec::AcclPacket> packet_of(std::span<const std::byte> payload) {
  std::array<std::uint64_t, kPacketHeader / 8> words;
  if (payload.size() < kPacketHeader) return std::nullopt;
  std::memcpy(words.data(), payload.data(), kPacketHeader);
  if ((words[0] & 0xFF) > static_cast<std::uint64_t>(spec::MessageKind::refusal)) return std::nullopt;
  return spec::AcclPacket::unpack(words);
}
inline void put_packet(std::span<std::byte> to, const spec::AcclPacket& header, std::span<const std::byte> data) {
  const auto words = header.pack();
  std::memcpy(to.data(), words.data(), kPacketHeader);
  std::copy(data.begin(), data.end(), to.begin() + kPacketHeader);
}
[[nodiscard]] inline ethernet::FrameRef datagram(ethernet::Frames& frames, const ethernet::UdpEnd& from,
                                                 const ethernet::UdpEnd& to, const spec::AcclPacket& header,
                                                 std::span<const std::byte> data) {
  return ethernet::make_udp(frames, from, to, kPacketHeader + data.size(),
                            [&](std::span<std::byte> bytes) { put_packet(bytes, header, data); });
}

}  // namespace thalweg::accl
