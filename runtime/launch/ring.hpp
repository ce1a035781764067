// SPDX-License-Identifier: Apache-2.0
// A ring buffer in shared memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace thalweg::launch {

/// Ring buffer with a single writer and a single reader, in different processes.
template <class T, std::size_t Entries>
struct Ring {
  std::atomic<std::uint64_t> written{0};
  std::atomic<std::uint64_t> taken{0};
  T entries[Entries];

  bool full() const {
    return written.load(std::memory_order_relaxed) - taken.load(std::memory_order_acquire) == Entries;
  }
  bool empty() const { return written.load(std::memory_order_acquire) == taken.load(std::memory_order_relaxed); }
  void put(const T& entry) {
    const std::uint64_t at = written.load(std::memory_order_relaxed);
    entries[at % Entries] = entry;
    written.store(at + 1, std::memory_order_release);
  }
  bool take(T& entry) {
    const std::uint64_t at = taken.load(std::memory_order_relaxed);
    if (at == written.load(std::memory_order_acquire)) return false;
    entry = entries[at % Entries];
    taken.store(at + 1, std::memory_order_release);
    return true;
  }
};

}  // namespace thalweg::launch
