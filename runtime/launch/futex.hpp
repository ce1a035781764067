// SPDX-License-Identifier: Apache-2.0
// Sleeps on a word of shared memory, and wakes its sleepers.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>

namespace thalweg::launch {

/// Sleeps while `word` holds `value`, at most `nanoseconds` (below a second). Returns early now and then: look again.
inline void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value, long nanoseconds) {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  const timespec limit{0, nanoseconds};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &limit, nullptr, 0);
}

/// Wakes who sleeps on `bell`, or is about to: who looks at it before it looks around misses nothing.
inline void ring(std::atomic<std::uint32_t>& bell) {
  bell.fetch_add(1);
  syscall(SYS_futex, &bell, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

}  // namespace thalweg::launch
