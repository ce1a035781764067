// SPDX-License-Identifier: Apache-2.0
// A kernel's load and store units for a memory bank: adjacent accesses are merged into bursts.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace thalweg::smi {

/// Modelled on the burst-coalesced units of OpenCL compilers for FPGAs: an access to the memory words of an open burst,
/// or to adjacent words, joins it. A burst is requested when it reaches the end of its block, when the adjacent access is
/// in the next block, or when it is the least recently used of kOpen bursts and another one needs its entry. Loads and
/// stores have separate bursts.
class Bursts {
 public:
  static constexpr std::uint64_t kBlock = 1024;  ///< maximum size and alignment of a burst in bytes
  static constexpr unsigned kOpen = 16;

  /// `word_bytes`: smallest transfer of the memory, a power of two.
  explicit Bursts(unsigned word_bytes) : word_bits_(static_cast<unsigned>(std::countr_zero(word_bytes))) {}

  /// Calls ask(address, bytes, writes) for each completed burst.
  template <class Request>
  void use(std::uint64_t address, std::uint64_t bytes, bool writes, const Request& request) {
    while (bytes > 0) {
      const auto part = std::min(bytes, kBlock - address % kBlock);
      use_part({.begin = address, .end = address + part, .writes = writes}, request);
      address += part;
      bytes -= part;
    }
  }
  /// Requests all open bursts, at the kernel's end.
  template <class Request>
  void end(const Request& request) {
    for (auto& burst : open_) finish(burst, request);
  }

 private:
  struct Burst {
    std::uint64_t begin = 0, end = 0;  ///< equal: no burst
    bool writes = false;
    std::uint64_t used = 0;
  };

  [[nodiscard]] bool touches(const Burst& burst, const Burst& part) const {
    return burst.begin < burst.end && burst.writes == part.writes &&
           part.begin >> word_bits_ <= ((burst.end - 1) >> word_bits_) + 1 &&
           burst.begin >> word_bits_ <= ((part.end - 1) >> word_bits_) + 1;
  }
  template <class Request>
  static void finish(Burst& burst, const Request& request) {
    if (burst.begin < burst.end) request(burst.begin, burst.end - burst.begin, burst.writes);
    burst = {};
  }
  template <class Request>
  void use_part(const Burst& part, const Request& request) {
    if (!touches(open_[last_], part)) last_ = select(part);
    auto& burst = open_[last_];
    burst.used = ++uses_;
    if (touches(burst, part) && burst.begin / kBlock == part.begin / kBlock) {
      const bool up = part.end > burst.end, down = part.begin < burst.begin;
      burst.begin = std::min(burst.begin, part.begin);
      burst.end = std::max(burst.end, part.end);
      if ((up && burst.end % kBlock == 0) || (down && burst.begin % kBlock == 0)) finish(burst, request);
      return;
    }
    finish(burst, request);
    burst = {part.begin, part.end, part.writes, uses_};
    if (burst.end - burst.begin == kBlock) finish(burst, request);
  }
  /// Returns the index of the burst that `part` touches, otherwise the least recently used one.
  [[nodiscard]] unsigned select(const Burst& part) const {
    unsigned oldest = 0;
    for (unsigned i = 0; i < kOpen; ++i) {
      if (touches(open_[i], part)) return i;
      if (open_[i].used < open_[oldest].used) oldest = i;
    }
    return oldest;
  }

  unsigned word_bits_, last_ = 0;
  std::uint64_t uses_ = 0;
  std::array<Burst, kOpen> open_{};
};

}  // namespace thalweg::smi
