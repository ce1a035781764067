// SPDX-License-Identifier: Apache-2.0
// The memory that a server shares with the processes of its run: an anonymous sparse file, fully mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace thalweg::launch {

class SharedMemory {
 public:
  /// Throws std::system_error if the file or the mapping fails.
  explicit SharedMemory(std::uint64_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// True if `count` elements of `size` bytes at `offset` lie within the memory.
  [[nodiscard]] bool holds(std::uint64_t offset, std::uint64_t count, std::uint64_t size) const {
    return offset <= bytes_ && (size == 0 || count <= (bytes_ - offset) / size);
  }
  template <class T>
  [[nodiscard]] std::span<T> at(std::uint64_t offset, std::uint64_t count) {
    return {reinterpret_cast<T*>(base_ + offset), count};
  }

 protected:
  [[nodiscard]] std::byte* base() const { return base_; }

 private:
  std::uint64_t bytes_;
  int descriptor_ = -1;
  std::byte* base_ = nullptr;
};

}  // namespace thalweg::launch
