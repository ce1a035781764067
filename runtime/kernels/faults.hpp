// SPDX-License-Identifier: Apache-2.0
// Handles faults of kernels in this process: an invalid address, a division by zero, a stack overflow. The kernel's code is left as by longjmp,
// without destructors. A wild pointer may have written anywhere, so the run ends.
#pragma once

#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>

namespace thalweg {

class Faults {
 public:
  /// Where a kernel's code is left.
  struct RecoveryPoint {
    sigjmp_buf jump{};
    bool is_set = false;
    int signal = 0;
    const void* code = nullptr;  ///< what did it
    std::uintptr_t address = 0;  ///< what it used
    bool is_overflow = false;

    /// What went wrong, for people.
    [[nodiscard]] std::string text() const;
  };
  /// Of the kernel that runs, by its context; null: it is no kernel's.
  using Find = RecoveryPoint* (*)(void* context);

  /// While it exists, faults of kernels on this thread go to their places.
  explicit Faults(Find find);
  ~Faults();
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// In a handler of exceptions: what went wrong, for people, where a kernel has thrown this one last. Any other exception goes on.
[[nodiscard]] std::string what_was_thrown(const void* by_kernel);

}  // namespace thalweg
