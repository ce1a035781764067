// SPDX-License-Identifier: Apache-2.0
#include "launch/watched_process.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "launch/stat_file.hpp"

namespace thalweg::launch {
namespace {

constexpr int kEndMilliseconds = 10'000;  // between closing its files and its end, a process only frees memory
constexpr int kWaitMilliseconds = 1000;   // while its parent waits for it, neither method returns its status

std::string file_of(int process, const char* name) {
  return "/proc/" + std::to_string(process) + "/" + name;
}

/// The program that a process executes; empty once it is ending.
std::string program_of(int process) {
  std::array<char, 4096> path;
  const auto length = readlink(file_of(process, "exe").c_str(), path.data(), path.size());
  return length < 0 ? "" : std::string(path.data(), static_cast<std::size_t>(length));
}

/// Argument of PIDFD_GET_INFO (linux/pidfd.h), which since Linux 6.15 also works after the parent has waited for the process.
struct PidfdInfo {
  std::uint64_t mask = 1 << 3;  // PIDFD_INFO_EXIT
  std::uint64_t cgroup = 0;
  std::array<std::uint32_t, 11> ids{};
  std::int32_t status = 0;
};
static_assert(sizeof(PidfdInfo) == 64);

std::optional<int> status_after_wait(int descriptor) {
  PidfdInfo info;
  if (ioctl(descriptor, _IOWR(0xFF, 11, PidfdInfo), &info) != 0 || (info.mask & PidfdInfo{}.mask) == 0)
    return std::nullopt;
  return info.status;
}

std::optional<int> status_before_wait(int process) {
  const std::string fields = fields_from_state(file_of(process, "stat"));
  if (!fields.starts_with('Z')) return std::nullopt;
  return std::atoi(fields.c_str() + fields.rfind(' '));  // exit status is the last field
}

}  // namespace

WatchedProcess::WatchedProcess(int process)
    : process_(process),
      descriptor_(static_cast<int>(syscall(SYS_pidfd_open, process, 0))),
      program_(program_of(process)) {}

WatchedProcess::~WatchedProcess() {
  if (descriptor_ >= 0) close(descriptor_);
}

WatchedProcess::WatchedProcess(WatchedProcess&& other) noexcept {
  *this = std::move(other);
}

WatchedProcess& WatchedProcess::operator=(WatchedProcess&& other) noexcept {
  std::swap(process_, other.process_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(program_, other.program_);
  return *this;
}

bool WatchedProcess::has_ended(int milliseconds) const {
  pollfd ended{descriptor_, POLLIN, 0};
  return ::poll(&ended, 1, milliseconds) == 1;
}

std::string WatchedProcess::end(bool exits) const {
  const std::string unknown = exits ? "exited" : "ended";
  if (descriptor_ < 0) return unknown;
  // An ending process has no program any more when it closes its files.
  if (const std::string program = program_of(process_); !program.empty() && !has_ended(0))
    return program == program_ ? "closed its connection to the run, or executed its program anew"
                               : "executed another program, " + program + ",";
  if (!has_ended(kEndMilliseconds)) return unknown;
  std::optional<int> status;
  for (int waited = 0; !status && waited < kWaitMilliseconds; ++waited) {
    if (waited != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    status = status_before_wait(process_);
    if (!status) status = status_after_wait(descriptor_);
  }
  if (!status) return unknown;
  if (exits && WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL)
    return unknown;  // the run killed it while it exited
  if (WIFSIGNALED(*status))
    return "was killed by signal " + std::to_string(WTERMSIG(*status)) + " (" + strsignal(WTERMSIG(*status)) + ")";
  const std::string code = std::to_string(WEXITSTATUS(*status));
  return exits ? "exited with status " + code : "called _exit(" + code + ")";
}

}  // namespace thalweg::launch
