// SPDX-License-Identifier: Apache-2.0
// The exchange memory, shared by host and engine, with the layout of ACCL's driver: receive buffers, communicators and
// arithmetic configurations from the start, registers at the end.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/crc32.hpp"

namespace thalweg::accl {

/// A member of a communicator.
struct Member {
  std::uint32_t ip = 0, port = 0, session = 0;

  friend bool operator==(const Member&, const Member&) = default;
};
struct Communicator {
  std::uint32_t rank = 0;  ///< of this board
  std::vector<Member> members;

  friend bool operator==(const Communicator&, const Communicator&) = default;
};
/// Storage, wire format and operations of elements of a type.
struct Arithmetic {
  unsigned bytes = 0, compressed_bytes = 0;  ///< per element
  bool compressed = false;                   ///< combines in the compressed type
  std::vector<std::uint32_t> functions;      ///< unit number, indexed by a call's function
};

class ExchangeMemory {
 public:
  static constexpr std::uint32_t kBytes = 0x2000;
  static constexpr std::uint32_t kBuffers = 0x0, kBufferBytes = 0x4, kFirstBuffer = 0x8, kBufferWords = 7;
  // Tuning registers of ACCL's driver: maximum bytes for which gathers, and reductions to a root, are direct (flat).
  static constexpr std::uint32_t kGatherFlat = 0x1FC8, kReduceFlat = 0x1FD4;
  static constexpr std::uint32_t kBroadcastFlat = 0x1FCC;  ///< maximum ranks for a direct (flat) bcast
  static constexpr std::uint32_t kSpare = 0x1FD8;          ///< address of a spare buffer, low and high word
  static constexpr std::uint32_t kCycles = 0x1FF0, kConfigured = 0x1FF4, kIdentity = 0x1FF8, kReturnCode = 0x1FFC;

  /// Returns none if there is no such word.
  [[nodiscard]] std::optional<std::uint32_t> read(std::uint64_t address) const {
    if (address >= kBytes || address % 4 != 0) return std::nullopt;
    return words_[address / 4];
  }
  /// Returns false if there is no such word. The identity register ignores writes.
  bool write(std::uint64_t address, std::uint32_t value) {
    if (address >= kBytes || address % 4 != 0) return false;
    if (address != kIdentity) words_[address / 4] = value;
    return true;
  }
  void set_identity(std::uint32_t identity) { words_[kIdentity / 4] = identity; }

  /// Returns none if the words are no communicator: the size is out of range, or the rank is no member.
  [[nodiscard]] std::optional<Communicator> communicator(std::uint32_t address) const {
    const auto size = word(address), rank = word(address + 4);
    if (address % 4 != 0 || address < kFirstBuffer || size == 0 || size > kBytes / kMemberBytes || rank >= size ||
        address + 8 + size * kMemberBytes > kBytes)
      return std::nullopt;
    Communicator made{rank, {}};
    for (std::uint32_t k = 0; k < size; ++k) {
      const auto at = address + 8 + k * kMemberBytes;
      made.members.push_back({word(at), word(at + 4), word(at + 16)});
    }
    return made;
  }
  /// The address of the communicator whose last word is at `address`, if any.
  [[nodiscard]] std::optional<std::uint32_t> completed_by(std::uint64_t address) const {
    for (std::uint32_t size = 1; size <= kBytes / kMemberBytes; ++size) {
      const std::uint64_t before = 4 + size * kMemberBytes;
      if (address < kFirstBuffer + before) return std::nullopt;
      const auto begin = static_cast<std::uint32_t>(address - before);
      if (word(begin) != size) continue;
      const auto found = communicator(begin);
      if (found && std::ranges::all_of(found->members,
                                       [](const Member& member) { return member.ip >= kLeastIp && member.port != 0; }))
        return begin;
    }
    return std::nullopt;
  }
  /// Identity of a communicator, equal on all members: a CRC of its ranks and of the number of communicators with the
  /// same ranks at lower addresses. All members create communicators in the same order, and their driver allocates
  /// ascending addresses. The hardware computes it while the host writes the table.
  [[nodiscard]] std::uint32_t identify(const Communicator& of, std::uint32_t address) const {
    std::vector<std::uint64_t> words;
    for (const Member& member : of.members) {
      words.push_back(member.ip | std::uint64_t{member.port} << 32);
      words.push_back(member.session);
    }
    std::uint64_t before = 0;
    for (std::uint32_t at = kFirstBuffer; at < address; at += 4)
      if (read(at) == read(address))
        if (const auto other = communicator(at)) before += *other == of;
    words.push_back(before);
    return crc32(words, static_cast<unsigned>(64 * words.size()));
  }
  /// Returns none if the words are no arithmetic configuration.
  [[nodiscard]] std::optional<Arithmetic> arithmetic(std::uint32_t address) const {
    const auto functions = word(address + 20);
    if (address % 4 != 0 || address < kFirstBuffer || address + 28 > kBytes || functions > 32 ||
        address + 28 + 4 * functions > kBytes)
      return std::nullopt;
    const auto is_size = [](std::uint32_t bytes) { return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8; };
    Arithmetic made{word(address), word(address + 4), word(address + 24) != 0, {}};
    if (!is_size(made.bytes) || !is_size(made.compressed_bytes)) return std::nullopt;
    for (std::uint32_t k = 0; k < functions; ++k) made.functions.push_back(word(address + 28 + 4 * k));
    return made;
  }
  /// The addresses of the receive buffers; none if their number does not fit.
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> buffers() const {
    const auto count = word(kBuffers);
    if (kFirstBuffer + std::uint64_t{count} * 4 * kBufferWords > kBytes) return std::nullopt;
    std::vector<std::uint64_t> made;
    for (std::uint32_t k = 0; k < count; ++k) {
      const auto at = kFirstBuffer + k * 4 * kBufferWords;
      made.push_back(word(at + 4) | std::uint64_t{word(at + 8)} << 32);
    }
    return made;
  }
  [[nodiscard]] std::uint32_t buffer_bytes() const { return word(kBufferBytes); }
  [[nodiscard]] std::uint32_t tuning(std::uint32_t address) const { return word(address); }
  [[nodiscard]] std::uint64_t spare() const { return word(kSpare) | std::uint64_t{word(kSpare + 4)} << 32; }

 private:
  static constexpr std::uint32_t kMemberBytes = 24;
  static constexpr std::uint32_t kLeastIp = 1 << 24;  ///< all other words of a communicator are smaller

  [[nodiscard]] std::uint32_t word(std::uint32_t address) const { return read(address).value_or(0); }

  std::array<std::uint32_t, kBytes / 4> words_{};
};

}  // namespace thalweg::accl
