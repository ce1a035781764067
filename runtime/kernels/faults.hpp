// SPDX-License-Identifier: Apache-2.0
// Handles faults of kernels in this process: an invalid address, a division by zero, a stack overflow. The kernel's code is left by
// siglongjmp, without destructors. A wild pointer may have corrupted any memory, so the run ends.
#pragma once

#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>

namespace thalweg {

class Faults {
 public:
  /// Jump target of a kernel's fault, and its details.
  struct RecoveryPoint {
    sigjmp_buf jump{};
    bool is_set = false;
    int signal = 0;
    const void* code = nullptr;  ///< address after the faulting instruction's first byte
    std::uintptr_t address = 0;  ///< memory address accessed
    bool is_overflow = false;

    /// Description of the fault for the user.
    [[nodiscard]] std::string text() const;
  };
  /// Finds the recovery point of the running kernel by its context; null if it has none.
  using Find = RecoveryPoint* (*)(void* context);

  /// During its lifetime, faults of kernels on this thread jump to their recovery points.
  explicit Faults(Find find);
  ~Faults();
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Called in an exception handler: describes the exception for the user if it is the kernel's last one; rethrows any other.
[[nodiscard]] std::string describe_exception(const void* kernel_exception);

}  // namespace thalweg
