// SPDX-License-Identifier: Apache-2.0
// Common code of the DMA engines between a node's memory and its crossbar. A descriptor is a list of segments; further
// descriptors are queued.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cluster/engine.hpp"
#include "memory/bank.hpp"
#include "memory/sparse.hpp"
#include "vcsn/word.hpp"

namespace thalweg::vcsn {

/// A board's memory: banks at consecutive addresses.
class BoardMemory {
 public:
  BoardMemory(const std::string& name, unsigned banks, std::uint64_t bank_bytes, const BankTiming& timing)
      : bytes(name, banks * bank_bytes), bank_bytes_(bank_bytes), banks_(banks, Bank(timing)) {}

  SparseMemory bytes;

  [[nodiscard]] Bank& bank(std::uint64_t address) { return banks_[static_cast<std::size_t>(address / bank_bytes_)]; }
  /// Offset of an address in its bank.
  [[nodiscard]] std::uint64_t place(std::uint64_t address) const { return address % bank_bytes_; }

 private:
  std::uint64_t bank_bytes_;
  std::vector<Bank> banks_;
};

struct Segment {
  std::uint64_t address = 0, bytes = 0;
};
/// Maximum segments held by an engine (`Segments` of rtl/vcsn/parts/tw_segments.sv).
inline constexpr unsigned kSegments = 32;
/// Maximum bytes of a segment; an engine counts its words in 26 bits.
inline constexpr std::uint64_t kMostSegment = ((std::uint64_t{1} << 26) - 1) * kWord;

/// A transfer: one packet with the bytes of the segments, in order. Each segment but the last is whole words.
struct Transfer {
  Handle handle = 0;
  std::vector<Segment> segments;
  std::uint8_t channel = 0;

  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t all = 0;
    for (const Segment& segment : segments) all += segment.bytes;
    return all;
  }
};

/// An engine's position in a transfer's segments.
class Walk {
 public:
  /// Number of bytes of the next burst: at most `words` words, within a segment.
  [[nodiscard]] std::uint64_t next(const Transfer& transfer, unsigned words) const {
    return std::min<std::uint64_t>(transfer.segments[segment_].bytes - done_, std::uint64_t{words} * kWord);
  }
  [[nodiscard]] std::uint64_t address(const Transfer& transfer) const {
    return transfer.segments[segment_].address + done_;
  }
  /// Index of the segment.
  [[nodiscard]] std::size_t segment() const { return segment_; }
  /// Returns true at the end of the transfer.
  bool advance(const Transfer& transfer, std::uint64_t bytes) {
    done_ += bytes;
    if (done_ < transfer.segments[segment_].bytes) return false;
    done_ = 0;
    return ++segment_ == transfer.segments.size();
  }

 private:
  std::size_t segment_ = 0;
  std::uint64_t done_ = 0;
};

/// Parameters common to the engines, in the shell's cycles.
struct DmaTiming {
  unsigned burst = 16;    ///< maximum words per memory request
  unsigned buffer = 128;  ///< in words; a power of two
  unsigned ahead = 64;    ///< cycles by which the memory may lag behind the writes given to it
};

/// End of a packet: the handle of its transfer, the cycle in which it is complete in memory, and the bytes received.
struct Ended {
  Handle handle = 0;
  Tick cycle = 0;
  std::uint64_t bytes = 0;
};

[[nodiscard]] constexpr unsigned words_of(std::uint64_t bytes) {
  return static_cast<unsigned>((bytes + kWord - 1) / kWord);
}

}  // namespace thalweg::vcsn
