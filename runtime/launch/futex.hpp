// SPDX-License-Identifier: Apache-2.0
// Futex on a word of shared memory.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <type_traits>

namespace thalweg::launch {

/// Sleeps while `word` holds `value`, at most `nanoseconds` (below a second). May wake spuriously; check the condition again.
template <class Word>
void futex_wait(const std::atomic<Word>& word, std::type_identity_t<Word> value, long nanoseconds) {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  const timespec limit{0, nanoseconds};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &limit, nullptr, 0);
}

/// Wakes the sleeper on `word`.
template <class Word>
void futex_wake(std::atomic<Word>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

/// Wakes the sleeper on `bell`. A sleeper that reads `bell` before it checks its condition misses no wake-up.
inline void ring(std::atomic<std::uint32_t>& bell) {
  bell.fetch_add(1);
  futex_wake(bell);
}

}  // namespace thalweg::launch
