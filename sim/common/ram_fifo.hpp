// SPDX-License-Identifier: Apache-2.0
// First in, first out, of a depth that is worth block RAM, twin of rtl/common/tw_ram_fifo.sv.
#pragma once

#include <cstddef>
#include <optional>

#include "common/ring.hpp"

namespace thalweg {

/// A value pushed in cycle t is at the front in t+2 at the earliest; `depth` values besides the one at the front. Full, it
/// takes nothing, even while it is popped.
template <class T>
class RamFifo {
 public:
  explicit RamFifo(std::size_t depth) : words_(depth) {}

  [[nodiscard]] bool ready() const { return !words_.full(); }
  [[nodiscard]] bool valid() const { return front_.has_value(); }
  [[nodiscard]] const T& front() const { return *front_; }
  [[nodiscard]] bool empty() const { return words_.empty() && !front_; }
  [[nodiscard]] std::size_t size() const { return words_.size(); }  ///< without the one at the front

  /// One clock edge. push: a value that is offered, or nullptr; taken when ready(). pop: what is at the front is taken.
  void step(const T* push, bool pop) {
    const bool pushed = push && ready();
    if (pop) front_.reset();
    if (!front_ && !words_.empty()) {
      front_ = words_.front();
      words_.pop();
    }
    if (pushed) words_.push(*push);
  }

 private:
  Ring<T> words_;
  std::optional<T> front_;
};

}  // namespace thalweg
