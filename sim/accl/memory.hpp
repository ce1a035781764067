// SPDX-License-Identifier: Apache-2.0
// The memory of a board and that of its host, of which a host uses what it has allocated, and the time that the board's ports take.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include "core/types.hpp"
#include "memory/sparse.hpp"

namespace thalweg::accl {

/// Bytes of the device or the host.
class Memory {
 public:
  /// `limit`: bytes that can be allocated.
  Memory(const std::string& name, std::uint64_t limit) : bytes_(name, limit) {}

  /// Throws std::invalid_argument where it is beyond the limit.
  void allocate(std::uint64_t address, std::uint64_t size) {
    if (address > bytes_.size() || size > bytes_.size() - address)
      throw std::invalid_argument(bytes_.name() + " has " + std::to_string(bytes_.size()) + " bytes; " +
                                  std::to_string(size) + " at " + std::to_string(address) + " are outside");
    allocated_ = std::max(allocated_, address + size);
  }
  [[nodiscard]] bool has(std::uint64_t address, std::uint64_t size) const {
    return address <= allocated_ && size <= allocated_ - address;
  }
  /// Only where has().
  void read(std::uint64_t address, std::span<std::byte> to) const { bytes_.read(address, to); }
  void write(std::uint64_t address, std::span<const std::byte> from) { bytes_.write(address, from); }

 private:
  SparseMemory bytes_;
  std::uint64_t allocated_ = 0;
};

/// A port of a memory that moves bytes one behind the other, at a rate. Times are in cycles.
class MemoryPort {
 public:
  MemoryPort(double bytes_per_cycle, double latency) : rate_(bytes_per_cycle), latency_(latency) {}

  [[nodiscard]] double latency() const { return latency_; }
  /// Takes `bytes` from `at` on, as early as the port is free, and no faster than they come until `last`; when the last one has been taken.
  double take(double at, double last, std::uint64_t bytes) {
    free_ = std::max(std::max(at, free_) + static_cast<double>(bytes) / rate_, last);
    return free_;
  }

 private:
  double rate_, latency_, free_ = 0;
};

}  // namespace thalweg::accl
