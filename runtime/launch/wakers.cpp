// SPDX-License-Identifier: Apache-2.0
#include "launch/wakers.hpp"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "launch/watched_thread.hpp"

namespace thalweg::launch {
namespace {

/// Signals whose handlers do not count: these end the program or report an error, or belong to MPICH or the C library.
constexpr std::array kNoWakers{SIGHUP,  SIGINT,  SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS, SIGFPE,
                               SIGUSR1, SIGSEGV, SIGPIPE, SIGTERM, SIGSYS,  32,      33};

/// The signals that the process handles, as bits; signal 1 is bit 0.
std::uint64_t handled(const std::string& folder) {
  std::ifstream status(folder + "/status");
  const std::string key = "SigCgt:";
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) return std::strtoull(line.c_str() + key.size(), nullptr, 16);
  return 0;
}

}  // namespace

bool has_other_wakers(std::int32_t process, std::span<const std::int32_t> threads) {
  const std::string folder = "/proc/" + std::to_string(process);
  std::uint64_t signals = handled(folder);
  for (const int signal : kNoWakers) signals &= ~(std::uint64_t{1} << (signal - 1));
  if (signals != 0) return true;
  std::error_code error;  // the list ends if the process ends
  for (std::filesystem::directory_iterator task(folder + "/task", error);
       !error && task != std::filesystem::directory_iterator{}; task.increment(error)) {
    const auto thread = static_cast<std::int32_t>(std::atoi(task->path().filename().c_str()));
    if (std::ranges::find(threads, thread) != threads.end()) continue;
    if (const Doing now = WatchedThread(process, thread).doing(); now != Doing::waits && now != Doing::ended)
      return true;
  }
  return false;
}

}  // namespace thalweg::launch
