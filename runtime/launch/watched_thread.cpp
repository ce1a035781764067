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
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "launch/stat_file.hpp"

namespace thalweg::launch {
namespace {

template <std::size_t kSize>
using Text = std::array<char, kSize>;

/// The file's text; empty if the thread has ended, or if the file is not open.
template <std::size_t kSize = 256>
Text<kSize> text_of(int file) {
  Text<kSize> text{};
  if (const auto length = pread(file, text.data(), text.size() - 1, 0); length < 0) text[0] = 0;
  return text;
}

using Arguments = std::array<std::uint64_t, 5>;

/// True if a system call with these arguments has no time limit. `#ifdef`: system calls that only some architectures have.
bool has_no_limit(int call, const Arguments& of) {
  switch (call) {
    case SYS_read:
    case SYS_readv:
    case SYS_write:
    case SYS_writev:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_msgrcv:
    case SYS_semop:
    case SYS_rt_sigsuspend:
#ifdef SYS_pause
    case SYS_pause:
#endif
      return true;
    case SYS_ppoll:
    case SYS_rt_sigtimedwait:
      return of[2] == 0;
    case SYS_pselect6:
    case SYS_mq_timedreceive:
    case SYS_mq_timedsend:
#ifdef SYS_select
    case SYS_select:
#endif
      return of[4] == 0;
    case SYS_epoll_pwait:
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
      return static_cast<std::int32_t>(of[3]) < 0;
#ifdef SYS_poll
    case SYS_poll:
      return static_cast<std::int32_t>(of[2]) < 0;
#endif
    default:
      return false;
  }
}

}  // namespace

WatchedThread::WatchedThread(std::int32_t process, std::int32_t thread) {
  const std::string folder = "/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/";
  call_ = open((folder + "syscall").c_str(), O_RDONLY | O_CLOEXEC);
  ended_ = call_ < 0 && errno == ENOENT;
  state_ = open((folder + "stat").c_str(), O_RDONLY | O_CLOEXEC);
  schedule_ = open((folder + "schedstat").c_str(), O_RDONLY | O_CLOEXEC);
  status_ = open((folder + "status").c_str(), O_RDONLY | O_CLOEXEC);
}

WatchedThread::~WatchedThread() {
  for (const int file : {call_, state_, schedule_, status_})
    if (file >= 0) close(file);
}

WatchedThread::WatchedThread(WatchedThread&& other) noexcept {
  *this = std::move(other);
}

WatchedThread& WatchedThread::operator=(WatchedThread&& other) noexcept {
  std::swap(call_, other.call_);
  std::swap(state_, other.state_);
  std::swap(schedule_, other.schedule_);
  std::swap(status_, other.status_);
  std::swap(ended_, other.ended_);
  return *this;
}

Doing WatchedThread::doing() const {
  if (ended_) return Doing::ended;
  errno = 0;
  const auto text = text_of(call_);
  if (errno == ESRCH) return Doing::ended;
  int call = -1;
  Arguments of{};
  const int fields = std::sscanf(text.data(), "%d %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64, &call,
                                 of.data(), &of[1], &of[2], &of[3], &of[4]);
  if (std::strcmp(text.data(), "-1 0x0 0x0\n") == 0) return Doing::ended;  // without a stack: a process's first thread
  if (fields < 1 || call < 0) return Doing::runs;                          // "running", or it waits for a page
  // A woken thread can be in state "R" while the file above still shows its system call.
  if (runs(fields_from_state(state_))) return Doing::runs;
  if (call != SYS_futex) return has_no_limit(call, of) ? Doing::blocks : Doing::sleeps;
  if (of[3] != 0) return Doing::waits_for;
  return of[1] & FUTEX_PRIVATE_FLAG ? Doing::waits : Doing::waits_shared;
}

std::uint64_t WatchedThread::turns() const {
  std::uint64_t turns = 0;
  std::sscanf(text_of(schedule_).data(), "%*u %*u %" SCNu64, &turns);
  return turns;
}

std::uint64_t WatchedThread::sleeps() const {
  constexpr const char* kName = "\nvoluntary_ctxt_switches:";
  const auto text = text_of<4096>(status_);
  const char* const found = std::strstr(text.data(), kName);
  return found == nullptr ? 0 : std::strtoull(found + std::strlen(kName), nullptr, 10);
}

std::int64_t WatchedThread::processor_ns() const {
  std::int64_t used = 0;
  std::sscanf(text_of(schedule_).data(), "%" SCNd64, &used);
  return used;
}

}  // namespace thalweg::launch
