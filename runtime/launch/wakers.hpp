// SPDX-License-Identifier: Apache-2.0
// What may wake a thread that sleeps in a futex of its process.
#pragma once

#include <cstdint>
#include <span>

namespace thalweg::launch {

/// True if something other than `threads` may wake one of these: another thread of the process that does not sleep in such a
/// futex itself, or a handler of a signal.
[[nodiscard]] bool has_other_wakers(std::int32_t process, std::span<const std::int32_t> threads);

}  // namespace thalweg::launch
