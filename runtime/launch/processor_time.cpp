// SPDX-License-Identifier: Apache-2.0
#include "launch/processor_time.hpp"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

namespace thalweg::launch {

std::int64_t processor_ns(std::int32_t process) {
  clockid_t clock{};
  timespec used{};
  if (process <= 0 || clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0;
  return used.tv_sec * 1'000'000'000LL + used.tv_nsec;
}

bool any_thread_runs(std::int32_t process) {
  std::error_code none;
  const std::filesystem::directory_iterator threads("/proc/" + std::to_string(process) + "/task", none);
  return std::any_of(begin(threads), end(threads), [](const auto& thread) {
    std::ifstream file(thread.path() / "stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto name = text.rfind(")");  // which may hold anything
    return name != std::string::npos && text.compare(name, 3, ") R") == 0;
  });
}

}  // namespace thalweg::launch
