// SPDX-License-Identifier: Apache-2.0
// Fibers: a separate stack for code that is suspended in the middle of a call and resumed later.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>

namespace thalweg {

/// Runs a function on its own stack. The pages of a stack take memory when they are first written; below them is one that cannot
/// be used, so that an overflow is a fault.
class Fiber {
 public:
  static constexpr std::size_t kStack = std::size_t{256} << 10;

  /// Throws std::bad_alloc where there is no room for the stack.
  explicit Fiber(std::function<void()> body, std::size_t stack_bytes = kStack);
  /// Only before the first resume(), or once it is done.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Lets it run until it suspends itself or ends. Throws what its function threw.
  void resume();
  /// Called in the fiber: returns at the next resume().
  void suspend();
  /// Whether an address is in the page below its stack.
  [[nodiscard]] bool overflowed(const void* at) const;
  [[nodiscard]] bool started() const { return started_; }
  [[nodiscard]] bool done() const { return done_; }

 private:
  static void enter(Fiber* self);
  void to(bool inside, bool last);

  std::function<void()> body_;
  std::byte* memory_;  ///< the page that cannot be used, and the stack
  std::size_t bytes_;
  void* inside_ = nullptr;  ///< where it stands, or where resume() was called: as the switch needs it
  void* outside_ = nullptr;
  struct Exceptions {  ///< those being handled, as the C++ ABI keeps them for a thread
    void* caught = nullptr;
    unsigned uncaught = 0;
  } exceptions_;
  std::exception_ptr thrown_;
  bool started_ = false;
  bool done_ = false;
  // For the address sanitizer: the stack to go back to, and those of a stack's frames that it keeps elsewhere.
  const void* outer_bottom_ = nullptr;
  std::size_t outer_size_ = 0;
  void* outer_frames_ = nullptr;
  void* frames_ = nullptr;
};

}  // namespace thalweg
