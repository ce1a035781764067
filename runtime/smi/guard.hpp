// SPDX-License-Identifier: Apache-2.0
// Handles faults of kernels: a program runs in a child process, and the reason for its end is passed to the waiting process.
#pragma once

#include <cstdint>
#include <string>

#include "smi/program.hpp"

namespace thalweg::smi {

/// Kernels are compiled code: a wild pointer may write anywhere, and exit() ends the process. Only another process is safe
/// from that. The signal handler therefore only saves the code addresses in shared memory, and the waiting process formats
/// the message.
class Guard {
 public:
  /// Call before the run's process is forked. Throws std::bad_alloc.
  explicit Guard(const Program& program);
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  /// Call in the run's process. A fault ends it, as do `patience` seconds of processor time in which no kernel uses a
  /// channel or memory; 0: no limit.
  void watch(unsigned patience);
  /// Returns why the run ended, such as "app.cl:7: rank 0, kernel app: divides an integer by zero"; empty without a
  /// fault.
  [[nodiscard]] std::string fault() const;
  /// Returns whether the run ended because its patience expired.
  [[nodiscard]] bool impatient() const;

  struct Record;

 private:
  const Program& program_;
  Record* record_;
};

}  // namespace thalweg::smi
