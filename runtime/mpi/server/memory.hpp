// The memory that the server shares with the ranks: a sparse file without a name, mapped whole.
#pragma once

#include <cstddef>
#include <span>

#include "mpi/protocol.hpp"

namespace thalweg::mpi {

class SharedMemory {
 public:
  /// Throws std::system_error where the system refuses the file or the mapping.
  explicit SharedMemory(unsigned ranks);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] Header& header() { return *reinterpret_cast<Header*>(base_); }
  [[nodiscard]] Slot& slot(unsigned rank) { return *reinterpret_cast<Slot*>(base_ + slot_offset(rank)); }

  /// True where `count` elements of `size` bytes at `offset` lie inside the memory.
  [[nodiscard]] bool holds(std::uint64_t offset, std::uint64_t count, std::uint64_t size) const {
    return offset <= bytes_ && (size == 0 || count <= (bytes_ - offset) / size);
  }
  template <class T>
  [[nodiscard]] std::span<T> at(std::uint64_t offset, std::uint64_t count) {
    return {reinterpret_cast<T*>(base_ + offset), count};
  }

 private:
  std::uint64_t bytes_;
  int descriptor_ = -1;
  std::byte* base_ = nullptr;
};

}  // namespace thalweg::mpi
