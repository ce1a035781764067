// SPDX-License-Identifier: Apache-2.0
// Memory of all ranks' boards: buffers that kernels use as plain memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace thalweg::smi {

/// A named memory region of a bank.
struct Buffer {
  std::string name;
  unsigned rank = 0, bank = 0;
  std::byte* at = nullptr;
  std::uint64_t address = 0;  ///< in the bank
  std::size_t bytes = 0;
  unsigned kernels = 0;  ///< number of kernels started with it
};

/// All addresses are in one range, so a kernel's accesses to it are cheap to recognize. Buffers start in its middle, so
/// accesses far before or behind them are recognized as well. Forked processes share the memory.
class DeviceMemory {
 public:
  /// Throws std::bad_alloc if no address range is free.
  DeviceMemory();
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  static constexpr std::size_t kReserved = std::size_t{1} << 40;

  [[nodiscard]] std::uintptr_t begin() const { return reinterpret_cast<std::uintptr_t>(base_); }
  /// Adds a zeroed buffer. Throws std::bad_alloc.
  Buffer& add(std::string name, unsigned rank, unsigned bank, std::size_t bytes);
  /// Returns the buffer that contains an address, or null.
  [[nodiscard]] Buffer* find(std::uintptr_t address) {
    const auto granule = (address - begin() - kReserved / 2) / kGranule;
    return granule < granules_.size() ? granules_[granule] : nullptr;
  }

 private:
  static constexpr std::size_t kGranule = std::size_t{64} << 10;

  std::byte* base_;
  std::vector<Buffer*> granules_{nullptr};  ///< the first one has no buffer and catches underruns of the first buffer
  std::vector<Buffer*> buffers_;
};

}  // namespace thalweg::smi
