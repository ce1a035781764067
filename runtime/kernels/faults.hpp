// SPDX-License-Identifier: Apache-2.0
// Faults of kernels in this process: an address that is nobody's, a division by zero, a stack that is full. The kernel's code is left where it is, as by
// longjmp; what it held stays. A wild pointer may have written anywhere: the run ends.
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
  struct Place {
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
  using Find = Place* (*)(void* context);

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
