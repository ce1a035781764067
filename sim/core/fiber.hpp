// SPDX-License-Identifier: Apache-2.0
// Fibers: a separate stack for code that is suspended in the middle of a call and resumed later.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>

namespace thalweg {

/// Runs a function on its own stack. Pages of the stack take memory when first written. The page below the stack is
/// inaccessible, so that an overflow faults.
class Fiber {
 public:
  static constexpr std::size_t kStack = std::size_t{256} << 10;

  /// Throws std::bad_alloc if the stack cannot be allocated.
  explicit Fiber(std::function<void()> body, std::size_t stack_bytes = kStack);
  /// Only before the first resume(), or once done.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Runs the fiber until it suspends itself or ends. Rethrows exceptions of its function.
  void resume();
  /// Called in the fiber: returns at the next resume().
  void suspend();
  /// True if an address is in the guard page below the stack.
  [[nodiscard]] bool overflowed(const void* at) const;
  [[nodiscard]] bool started() const { return started_; }
  [[nodiscard]] bool done() const { return done_; }

 private:
  static void enter(Fiber* self);
  void to(bool inside, bool last);

  std::function<void()> body_;
  std::byte* memory_;  ///< the guard page, then the stack
  std::size_t bytes_;
  void* inside_ = nullptr;  ///< saved context of the fiber, and of the caller of resume() (outside_)
  void* outside_ = nullptr;
  struct Exceptions {  ///< exceptions being handled, as the C++ ABI keeps them per thread
    void* caught = nullptr;
    unsigned uncaught = 0;
  } exceptions_;
  std::exception_ptr thrown_;
  bool started_ = false;
  bool done_ = false;
  // For the address sanitizer: the caller's stack, and the fake frames of both stacks.
  const void* outer_bottom_ = nullptr;
  std::size_t outer_size_ = 0;
  void* outer_frames_ = nullptr;
  void* frames_ = nullptr;
};

}  // namespace thalweg
