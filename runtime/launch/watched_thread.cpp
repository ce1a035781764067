// SPDX-License-Identifier: Apache-2.0
#include "launch/watched_thread.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "launch/stat_file.hpp"

namespace thalweg::launch {
namespace {

using Text = std::array<char, 256>;

/// The file's text; empty if the thread has ended, or if the file is not open.
Text text_of(int file) {
  Text text{};
  if (const auto length = pread(file, text.data(), text.size() - 1, 0); length < 0) text[0] = 0;
  return text;
}

}  // namespace

WatchedThread::WatchedThread(std::int32_t process, std::int32_t thread) {
  const std::string folder = "/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/";
  call_ = open((folder + "syscall").c_str(), O_RDONLY | O_CLOEXEC);
  ended_ = call_ < 0 && errno == ENOENT;
  state_ = open((folder + "stat").c_str(), O_RDONLY | O_CLOEXEC);
  schedule_ = open((folder + "schedstat").c_str(), O_RDONLY | O_CLOEXEC);
}

WatchedThread::~WatchedThread() {
  if (call_ >= 0) close(call_);
  if (state_ >= 0) close(state_);
  if (schedule_ >= 0) close(schedule_);
}

WatchedThread::WatchedThread(WatchedThread&& other) noexcept {
  *this = std::move(other);
}

WatchedThread& WatchedThread::operator=(WatchedThread&& other) noexcept {
  std::swap(call_, other.call_);
  std::swap(state_, other.state_);
  std::swap(schedule_, other.schedule_);
  std::swap(ended_, other.ended_);
  return *this;
}

Doing WatchedThread::doing() const {
  if (ended_) return Doing::ended;
  errno = 0;
  const Text text = text_of(call_);
  if (errno == ESRCH) return Doing::ended;
  int call = -1;
  unsigned operation = 0;   // second argument of a futex call,
  std::uint64_t until = 0;  // and fourth
  const int fields = std::sscanf(text.data(), "%d %*x %x %*x %" SCNx64, &call, &operation, &until);
  if (std::strcmp(text.data(), "-1 0x0 0x0\n") == 0) return Doing::ended;  // without a stack: a process's first thread
  if (fields < 1 || call < 0) return Doing::runs;                          // "running", or it waits for a page
  // A thread that has been woken, but not yet put into a processor's queue, is still in its call by the file above.
  if (fields_from_state(state_).starts_with('R')) return Doing::runs;
  if (call != SYS_futex || fields < 3) return Doing::sleeps;
  if (until != 0) return Doing::waits_for;
  return operation & FUTEX_PRIVATE_FLAG ? Doing::waits : Doing::waits_shared;
}

std::uint64_t WatchedThread::turns() const {
  std::uint64_t turns = 0;
  std::sscanf(text_of(schedule_).data(), "%*u %*u %" SCNu64, &turns);
  return turns;
}

std::int64_t WatchedThread::processor_ns() const {
  std::int64_t used = 0;
  std::sscanf(text_of(schedule_).data(), "%" SCNd64, &used);
  return used;
}

}  // namespace thalweg::launch
