// SPDX-License-Identifier: Apache-2.0
// Processor time and state of another process.
#pragma once

#include <cstdint>

namespace thalweg::launch {

/// The processor time that a process has used, in ns; 0 where it is not there.
[[nodiscard]] std::int64_t processor_ns(std::int32_t process);
/// Is a thread of it on a processor, or waits for one?
[[nodiscard]] bool any_thread_runs(std::int32_t process);

}  // namespace thalweg::launch
