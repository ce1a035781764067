// SPDX-License-Identifier: Apache-2.0
// Processor time and state of another process.
#pragma once

#include <cstdint>

namespace thalweg::launch {

/// Processor time used by a process, in ns; 0 if it does not exist.
[[nodiscard]] std::int64_t processor_ns(std::int32_t process);
/// True if a thread of the process runs, or waits for a processor or a disk.
[[nodiscard]] bool any_thread_runs(std::int32_t process);

}  // namespace thalweg::launch
