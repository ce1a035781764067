// SPDX-License-Identifier: Apache-2.0
// Memory of a board and of its host, of which a host uses what it has allocated, and timing of the board's memory
// ports.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/types.hpp"

namespace thalweg::accl {

/// Memory of the device or the host. It is contiguous, so that kernels use it as plain memory; pages never written take
/// no space.
class Memory {
 public:
  /// `limit`: bytes that can be allocated. Throws std::bad_alloc if the address space cannot be reserved.
  Memory(std::string name, std::uint64_t limit) : name_(std::move(name)), limit_(limit) {
    void* reserved = mmap(nullptr, pages(limit_), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::byte*>(reserved);
  }
  ~Memory() { munmap(base_, pages(limit_)); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Pointer to address 0, for kernels.
  [[nodiscard]] std::byte* base() const { return base_; }
  [[nodiscard]] std::uint64_t limit() const { return limit_; }
  /// Throws std::invalid_argument beyond the limit.
  void allocate(std::uint64_t address, std::uint64_t size) {
    if (address > limit_ || size > limit_ - address)
      throw std::invalid_argument(name_ + " has " + std::to_string(limit_) + " bytes; " + std::to_string(size) +
                                  " at " + std::to_string(address) + " are outside");
    if (address + size <= allocated_) return;
    if (mprotect(base_, pages(address + size), PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    allocated_ = address + size;
  }
  [[nodiscard]] bool has(std::uint64_t address, std::uint64_t size) const {
    return address <= allocated_ && size <= allocated_ - address;
  }
  /// Throw std::out_of_range if bytes were not allocated.
  void read(std::uint64_t address, std::span<std::byte> to) const {
    check(address, to.size());
    if (!to.empty()) std::memcpy(to.data(), base_ + address, to.size());
  }
  void write(std::uint64_t address, std::span<const std::byte> from) {
    check(address, from.size());
    if (!from.empty()) std::memcpy(base_ + address, from.data(), from.size());
  }

 private:
  static std::size_t pages(std::uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }
  void check(std::uint64_t address, std::size_t bytes) const {
    if (!has(address, bytes))
      throw std::out_of_range(std::to_string(bytes) + " bytes at " + std::to_string(address) + " of " + name_ +
                              " were not allocated");
  }

  static constexpr std::size_t kPage = 65'536;

  std::string name_;
  std::uint64_t limit_, allocated_ = 0;
  std::byte* base_;
};

/// A memory port that transfers bytes in order at a fixed rate. Times are in cycles.
class MemoryPort {
 public:
  MemoryPort(double bytes_per_cycle, double latency) : rate_(bytes_per_cycle), latency_(latency) {}

  [[nodiscard]] double latency() const { return latency_; }
  /// Transfers `bytes` from `at` on, once the port is free, and no faster than they arrive until `last`. Returns when
  /// the last byte is transferred.
  double take(double at, double last, std::uint64_t bytes) {
    free_ = std::max(std::max(at, free_) + static_cast<double>(bytes) / rate_, last);
    return free_;
  }

 private:
  double rate_, latency_, free_ = 0;
};

}  // namespace thalweg::accl
