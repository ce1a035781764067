// SPDX-License-Identifier: Apache-2.0
// What a thread of another process does, by the kernel's files of it.
#pragma once

#include <cstdint>

namespace thalweg::launch {

enum class Doing : std::uint8_t {
  runs,          ///< runs, or waits for a processor; also if the kernel does not tell
  waits,         ///< sleeps in a futex of its process, until another of its threads, or a signal handler, wakes it
  waits_shared,  ///< sleeps in a futex that other processes or the kernel may use
  waits_for,     ///< sleeps in a futex at most for some time
  blocks,        ///< sleeps in another system call, such as a read from a pipe, without a limit of time
  sleeps,        ///< sleeps otherwise
  ended,
};

class WatchedThread {
 public:
  WatchedThread() = default;
  WatchedThread(std::int32_t process, std::int32_t thread);
  ~WatchedThread();
  WatchedThread(WatchedThread&& other) noexcept;
  WatchedThread& operator=(WatchedThread&& other) noexcept;

  [[nodiscard]] Doing doing() const;
  /// Number of times that it got a processor: it has slept all the time between two equal results if it sleeps at the second.
  [[nodiscard]] std::uint64_t turns() const;
  /// Number of times that it has gone to sleep.
  [[nodiscard]] std::uint64_t sleeps() const;
  /// Processor time that it has used, in ns.
  [[nodiscard]] std::int64_t processor_ns() const;

 private:
  int call_ = -1;  // open files: they remain those of this thread even if its number is used again
  int state_ = -1;
  int schedule_ = -1;  // processor time, time in the run queue, turns
  int status_ = -1;
  bool ended_ = false;
};

}  // namespace thalweg::launch
