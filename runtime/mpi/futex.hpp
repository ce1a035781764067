// Sleeping on a word of shared memory, and waking who sleeps there.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>

namespace thalweg::mpi {

/// Sleeps while `word` holds `value`, at most `nanoseconds` (below a second). Returns early now and then: look again.
template <class Word>
void futex_wait(const std::atomic<Word>& word, Word value, long nanoseconds) {
  static_assert(sizeof(std::atomic<Word>) == sizeof(std::uint32_t));
  const timespec limit{0, nanoseconds};
  syscall(SYS_futex, &word, FUTEX_WAIT, static_cast<std::uint32_t>(value), &limit, nullptr, 0);
}

template <class Word>
void futex_wake(const std::atomic<Word>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

}  // namespace thalweg::mpi
