// SPDX-License-Identifier: Apache-2.0
// Handles faults of kernels: a program runs in a child process, and the reason for its end is passed to the waiting process.
#pragma once

#include <cstdint>
#include <string>

#include "smi/program.hpp"

namespace thalweg::smi {

/// Kernels are compiled code that may do anything: a wild pointer writes wherever it points, exit() ends its process. Only another
/// process is safe from that. So the signal's handler saves no more than where it was, in memory that both processes share, and the
/// other one makes a line of it.
class Guard {
 public:
  /// Throws std::bad_alloc. Before the process of the run is forked.
  explicit Guard(const Program& program);
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  /// In the process of the run: a fault ends it, and so do `patience` seconds of processor time in which no kernel has used a channel or
  /// memory; 0: never.
  void watch(unsigned patience);
  /// Of the run that has ended: "app.cl:7: rank 0, kernel app: divides an integer by zero"; empty where nothing was left.
  [[nodiscard]] std::string fault() const;
  /// Whether it was its patience that ended.
  [[nodiscard]] bool impatient() const;

  struct Record;

 private:
  const Program& program_;
  Record* record_;
};

}  // namespace thalweg::smi
