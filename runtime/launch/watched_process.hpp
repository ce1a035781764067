// SPDX-License-Identifier: Apache-2.0
// Watches a process that is not a child and reports how it ended.
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

  /// Becomes readable when the process ends; -1 if the system has no pidfd.
  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// Describes its end, such as "exited" or "was killed by signal 11 (Segmentation fault)", after it has ended or closed its
  /// connection. `exits`: it has called exit(). Waits for an end in progress.
  [[nodiscard]] std::string end(bool exits) const;

 private:
  [[nodiscard]] bool has_ended(int milliseconds) const;

  int process_ = 0;
  int descriptor_ = -1;
  std::string program_;
};

}  // namespace thalweg::launch
