// SPDX-License-Identifier: Apache-2.0
// Memory of all ranks' boards: buffers that kernels use as plain memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

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
