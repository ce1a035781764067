// SPDX-License-Identifier: Apache-2.0
// Reads the "stat" file of a Linux process or thread.
#pragma once

#include <string>

namespace thalweg::launch {

/// The fields of the file from the one-letter state on; empty if the process has ended, also during the read. The command name
/// before the state may contain any characters.
[[nodiscard]] std::string fields_from_state(const std::string& stat_file);
/// The same of an open file.
[[nodiscard]] std::string fields_from_state(int stat_file);

}  // namespace thalweg::launch
