// SPDX-License-Identifier: Apache-2.0
// Common types of a hub's blocks: words, ports and windows, as in rtl/peach2/tw_peach2_pkg.sv.
//
// A packet is a header in the lowest bytes of its first word, followed by the 32-byte lines that contain its data, with each byte at
// the offset given by its address.
#pragma once

#include <array>
#include <bit>
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
inline constexpr unsigned kMaxDwords = 64;  ///< payload of a packet
inline constexpr unsigned kLineBytes = 32;

/// North connects to the host, west and east to the ring, south to the other ring; the others are internal. The DMA controller has two
/// channels: engine for chains started by a write, results for chains started by the calculator. Bus and side are the bus's two lanes;
/// side serves only the results channel.
enum Port : unsigned { kNorth, kEast, kWest, kSouth, kBus, kEngine, kResults, kSide };
inline constexpr unsigned kPorts = 8;
inline constexpr unsigned kLinks = 4;
/// Channels of the DMA controller.
inline constexpr unsigned kChannels = 2;
/// A channel's tags: bits set for the channel kResults and for the read of a descriptor, and the number of another read.
inline constexpr unsigned kSideTag = 0x80, kFetchTag = 0x40, kMostReads = 0x40;
/// Status of a completion.
inline constexpr unsigned kSuccessful = 0, kUnsupportedRequest = 1;

struct HubWord {
  Word<256> data{};
  bool last = false;
};

/// A range of 4-KByte pages, lower <= (page & mask) <= upper, and its output port.
struct Window {
  bool used = false;
  unsigned to = 0;
  std::uint32_t mask = 0, lower = 0, upper = 0;

  [[nodiscard]] bool has(std::uint32_t page) const { return used && (page & mask) >= lower && (page & mask) <= upper; }
};

enum class Refusal : unsigned {
  none,
  outside,    ///< no window matches
  back,       ///< the window's port is the input port or does not exist
  crosses,    ///< crosses a page boundary
  malformed,  ///< unknown packet type or invalid length
  read,       ///< a read where only writes are routed, or an unexpected completion
  led,        ///< has passed kMostCables cables: windows form a loop
  locked,     ///< a write to a register from a node that the host has not authorized
};

inline constexpr unsigned kMostCables = 16;
/// Source of a write: a node and a port of its hub. Encoded in the requester ID: the bus number is the node, the function number the port.
struct Source {
  unsigned node = 0, port = 0;
};
/// Details of an event.
struct Note {
  unsigned reason = 0;  ///< a Refusal, or a ChainFault for a channel
  bool read = false;
  Source source{};
  std::uint64_t address = 0;
};
/// Bit positions in the first half of a header.
inline constexpr unsigned kBusAt = 32, kFunctionAt = 40, kTagAt = 48;
[[nodiscard]] inline Source source_of(std::uint64_t header) {
  return {static_cast<unsigned>(header >> kBusAt & 15), static_cast<unsigned>(header >> kFunctionAt & 7)};
}

enum class ChainFault : unsigned {
  none,
  malformed,  ///< its start is no multiple of 32, or a descriptor is invalid
  refused,    ///< a read's completion says Unsupported Request
  failed,     ///< a completion has another error, or is not the expected one
  too_long,   ///< too many descriptors, possibly a loop
  aborted,    ///< by the host
  late,       ///< a read has timed out
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
    case 0x0A:
      return Kind::completion;
    default:
      return Kind::other;
  }
}
/// A request's header has four double words. At links it has three, without this flag, if its address is below 4 GByte.
inline constexpr std::uint64_t kLong = 0x20;
/// Returns other headers unchanged.
[[nodiscard]] constexpr Word<256> expanded(const Word<256>& header) {
  const bool is_short = (header[0] & 0xFF & ~std::uint64_t{0x40}) == 0;
  return is_short ? Word<256>{header[0] | kLong, header[1] << 32, header[2], header[3]} : header;
}
[[nodiscard]] constexpr Word<256> shortened(const Word<256>& header) {
  return {header[0] & ~kLong, header[1] >> 32, header[2], header[3]};
}
[[nodiscard]] constexpr bool has_data(const Word<256>& header) {
  return (header[0] & 0x40) != 0;
}
[[nodiscard]] inline Word<256> word(const std::array<std::uint64_t, 2>& header) {
  return {header[0], header[1], 0, 0};
}

/// Number of lines that `dwords` double words occupy, starting at double word `first` of a line.
[[nodiscard]] constexpr unsigned lines(unsigned first, unsigned dwords) {
  return (first % 8 + dwords + 7) / 8;
}
/// Bytes of a read before the first and behind the last one that its enables ask for (PCI Express Base Specification 2.1, tables
/// 2-21 and 2-22); a read without any enabled byte asks for one.
[[nodiscard]] constexpr unsigned leading(unsigned first_enable) {
  return first_enable == 0 ? 0 : static_cast<unsigned>(std::countr_zero(first_enable));
}
[[nodiscard]] constexpr unsigned trailing(unsigned last_enable) {
  return last_enable == 0 ? 3 : 4 - static_cast<unsigned>(std::bit_width(last_enable));
}
/// Completion with the status Unsupported Request.
[[nodiscard]] inline Word<256> unsupported(std::span<const std::uint64_t, 2> read, std::uint16_t completer) {
  const auto request = spec::PcieMemoryRead::unpack(read);
  spec::PcieCompletionWithoutData made;
  made.traffic_class = request.traffic_class;
  made.attributes = request.attributes;
  made.completer = completer;
  made.status = kUnsupportedRequest;
  made.byte_count = 4;
  made.requester = request.requester;
  made.tag = request.tag;
  return word(made.pack());
}
/// Completion of a whole read, to be followed by its data.
[[nodiscard]] inline Word<256> completion(const spec::PcieMemoryRead& read, std::uint16_t completer) {
  const unsigned lead = leading(read.first_enable);
  spec::PcieCompletion made;
  made.traffic_class = read.traffic_class;
  made.attributes = read.attributes;
  made.completer = completer;
  made.requester = read.requester;
  made.tag = read.tag;
  made.length = read.length;
  made.byte_count = static_cast<std::uint16_t>(4 * read.length - lead -
                                               trailing(read.length == 1 ? read.first_enable : read.last_enable));
  made.lower_address = static_cast<std::uint8_t>(read.address * 4 % 128 + lead);
  return word(made.pack());
}
/// Flow-control units, of 16 bytes, of `dwords` double words.
[[nodiscard]] constexpr unsigned units(unsigned dwords) {
  return (dwords + 3) / 4;
}

}  // namespace thalweg::peach2
