// SPDX-License-Identifier: Apache-2.0
// A kernel's AXI port to its board's or its host's memory, with words of 64 bytes. Consecutive accesses are a burst, whose words are each moved once,
// at the memory's rate and at most one per cycle.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/kernel.hpp"

namespace thalweg::accl {

class AxiPort {
 public:
  static constexpr std::uint64_t kWord = 64;  ///< bytes
  /// Cycles by which a kernel's writes may be ahead of the memory, and a burst's reads ahead of the kernel.
  static constexpr double kMaxLead = 64;

  /// Times are in cycles.
  AxiPort(double bytes_per_cycle, double latency)
      : cycles_(std::max(1.0, static_cast<double>(kWord) / bytes_per_cycle)), latency_(latency) {}

  // Called inside the kernel.

  /// Stalls until the data have arrived. A burst's first word takes the memory's latency. In a pipeline (numbered; 0 for none), reads of several
  /// iterations overlap, so only the first one takes the latency.
  void read(Kernel& kernel, unsigned pipeline, std::uint64_t address, std::uint64_t bytes) {
    const auto now = static_cast<double>(kernel.cycle());
    if (!reads_.continues(address)) {
      reads_.begin(address);
      const bool overlaps = pipeline != 0 && pipeline == pipeline_;
      pipeline_ = pipeline;
      ready_ = std::max(ready_, now + (overlaps ? 0 : latency_));
    }
    ready_ = std::max(ready_, now - kMaxLead) + cycles_ * static_cast<double>(reads_.extend(address, bytes));
    stall(kernel, ready_);
  }
  void write(Kernel& kernel, std::uint64_t address, std::uint64_t bytes) {
    const auto now = static_cast<double>(kernel.cycle());
    if (!writes_.continues(address)) writes_.begin(address);
    written_ = std::max(written_, now) + cycles_ * static_cast<double>(writes_.extend(address, bytes));
    stall(kernel, written_ - kMaxLead);
    has_writes_ = true;
  }
  /// At a kernel's end, waits until all writes have reached the memory.
  void drain(Kernel& kernel) {
    if (has_writes_) stall(kernel, written_ + latency_);
    has_writes_ = false;
  }

 private:
  /// The words of a burst, up to `end`.
  struct Burst {
    std::uint64_t first = 0, end = 0;  ///< begin and end of the last word

    /// True if an access is in the last word or the next one; compilers read the parts of a word in any order.
    [[nodiscard]] bool continues(std::uint64_t address) const { return address >= first && address < end + kWord; }
    void begin(std::uint64_t address) { first = end = address / kWord * kWord; }
    /// Adds an access; returns the number of new words.
    std::uint64_t extend(std::uint64_t address, std::uint64_t bytes) {
      const auto until = (address + bytes + kWord - 1) / kWord * kWord;
      if (until <= end) return 0;
      const auto words = (until - end) / kWord;
      end = until;
      first = end - kWord;
      return words;
    }
  };
  static void stall(Kernel& kernel, double until) {
    const auto cycle = static_cast<Tick>(std::ceil(until - 1e-9));
    if (cycle > kernel.cycle())
      kernel.continue_after(kernel.tick() + (cycle - kernel.cycle()) * kernel.period() - 1, {"memory"});
  }

  double cycles_;  ///< per word
  double latency_;
  Burst reads_, writes_;
  double ready_ = 0, written_ = 0;
  bool has_writes_ = false;
  unsigned pipeline_ = 0;
};

}  // namespace thalweg::accl
