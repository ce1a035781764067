// SPDX-License-Identifier: Apache-2.0
// Common types of a hub's blocks: words, ports and windows, as in rtl/peach2/tw_peach2_pkg.sv.
//
// A packet is a header in the lowest bytes of its first word, then the 32-byte lines that contain its data, each byte at the offset of
// its address.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/types.hpp"
#include "thalweg_spec.hpp"

namespace thalweg::peach2 {

inline constexpr unsigned kAddressBits = 39;  ///< 512 GByte
inline constexpr unsigned kPageBits = 12;
inline constexpr unsigned kBaseShift = 30;  ///< of a hub's own GByte
inline constexpr unsigned kNodeShift = 35;  ///< a node has 32 GByte
inline constexpr std::uint64_t kAddresses = std::uint64_t{1} << kAddressBits;
inline constexpr unsigned kMaxDwords = 64;  ///< of a packet
inline constexpr unsigned kLineBytes = 32;

/// North is the host, west and east the ring, south the other ring; the others are inside. The DMA controller has two channels: engine
/// for the chains that are started by a write, results for those that the calculator starts. Bus and side are the bus's two lanes; side
/// serves results alone.
enum Port : unsigned { kNorth, kEast, kWest, kSouth, kBus, kEngine, kResults, kSide };
inline constexpr unsigned kPorts = 8;
inline constexpr unsigned kLinks = 4;
/// Of the DMA controller.
inline constexpr unsigned kChannels = 2;
/// In the tags of the channel kResults.
inline constexpr unsigned kSideTag = 0x40;

struct HubWord {
  Word<256> data{};
  bool last = false;
};

/// A range of pages of 4 KByte, and where it goes: lower <= (page & mask) <= upper.
struct Window {
  bool used = false;
  unsigned to = 0;
  std::uint32_t mask = 0, lower = 0, upper = 0;

  [[nodiscard]] bool has(std::uint32_t page) const { return used && (page & mask) >= lower && (page & mask) <= upper; }
};

enum class Refusal : unsigned {
  none,
  outside,    ///< no window
  back,       ///< out of the port that it came in by, or into none
  crosses,    ///< from page to page
  malformed,  ///< no packet of ours, or of a length that is none
  read,       ///< where writes alone go, or an answer that nobody asked for
  led,        ///< after kMostCables cables: windows lead it round
  locked,     ///< a register, by somebody whom the host does not let write it
};

inline constexpr unsigned kMostCables = 16;
/// Who wrote: a node, by a port of its hub. Of a write the requester says it: the bus's number is the node, the function's the port.
struct Source {
  unsigned node = 0, port = 0;
};
/// What is told of something that happened.
struct Note {
  unsigned reason = 0;  ///< a Refusal, or of a channel a ChainFault
  bool read = false;
  Source source{};
  std::uint64_t address = 0;
};
/// In the first half of a header.
inline constexpr unsigned kBusAt = 32, kFunctionAt = 40, kTagAt = 48;
[[nodiscard]] inline Source source_of(std::uint64_t header) {
  return {static_cast<unsigned>(header >> kBusAt & 15), static_cast<unsigned>(header >> kFunctionAt & 7)};
}

enum class ChainFault : unsigned {
  none,
  malformed,  ///< its start is no multiple of 32, or a descriptor is none
  refused,    ///< a read was refused
  failed,     ///< an answer has failed, or is not the one that is due
  too_long,   ///< as one that leads round
  aborted,    ///< by the host
  late,       ///< a read has had no answer in time
};

enum class Kind { write, read, completion, other };

[[nodiscard]] inline std::span<const std::uint64_t, 2> header(const Word<256>& word) {
  return std::span(word).first<2>();
}
[[nodiscard]] inline Kind kind(const Word<256>& header) {
  switch (header[0] & 0xFF) {
    case 0x60:
      return Kind::write;
    case 0x20:
      return Kind::read;
    case 0x4A:
      return Kind::completion;
    default:
      return Kind::other;
  }
}
[[nodiscard]] inline Word<256> word(const std::array<std::uint64_t, 2>& header) {
  return {header[0], header[1], 0, 0};
}

/// Lines that so many double words lie in, from one of a line's eight on.
[[nodiscard]] constexpr unsigned lines(unsigned first, unsigned dwords) {
  return (first % 8 + dwords + 7) / 8;
}
/// Units of 16 bytes that so many double words cost in flow control.
[[nodiscard]] constexpr unsigned units(unsigned dwords) {
  return (dwords + 3) / 4;
}

}  // namespace thalweg::peach2
