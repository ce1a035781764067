// SPDX-License-Identifier: Apache-2.0
// FIFO, C++ model of rtl/common/tw_fifo.sv: both sides are registered; ready and valid depend on the state only.
#pragma once

#include <cstddef>
#include <vector>

namespace thalweg {

/// A value pushed in cycle t is at the front in t+1 at the earliest; a full FIFO accepts nothing, even while it is
/// popped.
template <class T>
class Fifo {
 public:
  explicit Fifo(std::size_t depth) : slots_(depth) {}

  [[nodiscard]] bool ready() const { return count_ < slots_.size(); }  ///< push is possible in this cycle
  [[nodiscard]] bool valid() const { return count_ > 0; }              ///< front() exists and may be popped
  [[nodiscard]] const T& front() const { return slots_[head_]; }
  [[nodiscard]] std::size_t size() const { return count_; }

  /// One clock edge. push: an offered value, or nullptr; accepted when ready(). pop: takes the value at the front.
  void step(const T* push, bool pop) {
    const bool pushed = push && ready();
    const bool popped = pop && valid();
    if (pushed) slots_[wrap(head_ + count_)] = *push;
    if (popped) head_ = wrap(head_ + 1);
    count_ += static_cast<std::size_t>(pushed) - static_cast<std::size_t>(popped);
  }

 private:
  [[nodiscard]] std::size_t wrap(std::size_t index) const {
    return index < slots_.size() ? index : index - slots_.size();
  }

  std::vector<T> slots_;
  std::size_t head_ = 0;
  std::size_t count_ = 0;
};

}  // namespace thalweg
