// SPDX-License-Identifier: Apache-2.0
// Watches a process that is not a child, and reports how it ended.
#pragma once

#include <string>

namespace thalweg::launch {

class WatchedProcess {
 public:
  WatchedProcess() = default;
  explicit WatchedProcess(int process);
  ~WatchedProcess();
  WatchedProcess(WatchedProcess&& other) noexcept;
  WatchedProcess& operator=(WatchedProcess&& other) noexcept;

  /// Readable from the end of the process on; -1 where the system has no such thing.
  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// What it did, such as "exited" or "was killed by signal 11 (Segmentation fault)", once it has ended or let go of what it had
  /// open. `exits`: it was seen to call exit(). Waits for an end that is under way.
  [[nodiscard]] std::string end(bool exits) const;

 private:
  [[nodiscard]] bool has_ended(int milliseconds) const;

  int process_ = 0;
  int descriptor_ = -1;
  std::string program_;
};

}  // namespace thalweg::launch
