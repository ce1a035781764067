// SPDX-License-Identifier: Apache-2.0
// Reads a process's or thread's "stat" file of Linux.
#pragma once

#include <string>

namespace thalweg::launch {

/// The fields of such a file from the state on, which is one letter; empty where the process is gone, also in the middle of
/// reading. The command's name before them may hold anything.
[[nodiscard]] std::string fields_from_state(const std::string& stat_file);

}  // namespace thalweg::launch
