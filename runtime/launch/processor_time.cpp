// SPDX-License-Identifier: Apache-2.0
#include "launch/processor_time.hpp"

#include <ctime>
#include <filesystem>
#include <system_error>

#include "launch/stat_file.hpp"

namespace thalweg::launch {

std::int64_t processor_ns(std::int32_t process) {
  clockid_t clock{};
  timespec used{};
  if (process <= 0 || clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0;
  return used.tv_sec * 1'000'000'000LL + used.tv_nsec;
}

bool any_thread_runs(std::int32_t process) {
  std::error_code error;  // the list ends if the process ends
  for (std::filesystem::directory_iterator thread("/proc/" + std::to_string(process) + "/task", error);
       !error && thread != std::filesystem::directory_iterator{}; thread.increment(error))
    if (runs(fields_from_state(thread->path() / "stat"))) return true;
  return false;
}

}  // namespace thalweg::launch
