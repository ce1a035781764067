// SPDX-License-Identifier: Apache-2.0
// Reads the "stat" file of a Linux process or thread.
#pragma once

#include <string>
#include <string_view>

namespace thalweg::launch {

/// The fields of the file from the one-letter state on; empty if the process has ended, also during the read. The command name
/// before the state may contain any characters.
[[nodiscard]] std::string fields_from_state(const std::string& stat_file);
/// The same of an open file.
[[nodiscard]] std::string fields_from_state(int stat_file);
/// True if these fields are of a thread that runs, or that waits for a processor or a disk, which ends by itself.
[[nodiscard]] inline bool runs(std::string_view fields) {
  return fields.starts_with('R') || fields.starts_with('D');
}

}  // namespace thalweg::launch
