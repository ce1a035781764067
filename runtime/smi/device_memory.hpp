// SPDX-License-Identifier: Apache-2.0
// Memory of all ranks' boards: buffers that kernels use as plain memory, and the time that their banks take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/kernel.hpp"
#include "memory/dram.hpp"

namespace thalweg::smi {

/// Bytes of a bank that a kernel has by a name.
struct Buffer {
  std::string name;
  unsigned rank = 0, bank = 0;
  std::byte* at = nullptr;
  std::uint64_t address = 0;  ///< in the bank
  std::size_t bytes = 0;
  unsigned kernels = 0;  ///< that were started with it
};

/// Moves bytes in the order in which kernels ask.
class MemoryBank {
 public:
  /// Cycles that a kernel may be ahead of what it has asked for: what its load and store units hold.
  static constexpr double kAhead = 64;

  /// `timing`: in cycles of the kernels.
  MemoryBank(const DramTiming& timing, Tick latency) : dram_(timing), latency_(latency) {}

  [[nodiscard]] Tick latency() const { return latency_; }
  /// The address of a buffer, behind the one before; it begins in another of the DRAM's banks, so that kernels that stream through both
  /// don't close each other's rows.
  std::uint64_t place(std::uint64_t bytes) {
    const auto stripe = dram_.stripe(), banks = std::uint64_t{dram_.timing().banks};
    auto begins = (end_ + stripe - 1) / stripe;
    while (begins % banks != buffers_ % banks) ++begins;
    ++buffers_;
    end_ = begins * stripe + bytes;
    return begins * stripe;
  }
  /// Called in a kernel, which stands still where it is too far ahead; the cycle in which they have been moved.
  double move(Kernel& kernel, std::uint64_t address, std::size_t bytes, bool writes) {
    if (kernels > 1) kernel.synchronize();
    const auto now = static_cast<double>(kernel.cycle());
    const auto moved = dram_.access(now, address, bytes, writes);
    if (const auto behind = moved - now - kAhead; behind >= 1)
      kernel.continue_after(kernel.tick() + static_cast<Tick>(behind) * kernel.domain().clock.period - 1, {"memory"});
    return moved;
  }

  unsigned kernels = 0;  ///< that were started with one of its buffers

 private:
  Dram dram_;
  Tick latency_;
  std::uint64_t end_ = 0, buffers_ = 0;
};

/// Addresses are of one range, so that it is cheap to see which accesses of a kernel are to memory. Buffers begin in its middle: what is far
/// before or behind them is in it, too. A process that is forked has the same memory.
class DeviceMemory {
 public:
  /// Throws std::bad_alloc where there are no addresses for it.
  DeviceMemory();
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  static constexpr std::size_t kReserved = std::size_t{1} << 40;

  [[nodiscard]] std::uintptr_t begin() const { return reinterpret_cast<std::uintptr_t>(base_); }
  /// Zeros. Throws std::bad_alloc.
  Buffer& add(std::string name, unsigned rank, unsigned bank, std::size_t bytes);
  /// Whose an address is; nobody's: null.
  [[nodiscard]] Buffer* find(std::uintptr_t address) {
    const auto granule = (address - begin() - kReserved / 2) / kGranule;
    return granule < granules_.size() ? granules_[granule] : nullptr;
  }

 private:
  static constexpr std::size_t kGranule = std::size_t{64} << 10;

  std::byte* base_;
  std::vector<Buffer*> granules_{nullptr};  ///< the first one is nobody's: what runs under the first buffer is in it
  std::vector<Buffer*> buffers_;
};

}  // namespace thalweg::smi
