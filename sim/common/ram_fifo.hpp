// SPDX-License-Identifier: Apache-2.0
// Deep FIFO in block RAM, C++ model of rtl/common/tw_ram_fifo.sv.
#pragma once

#include <cstddef>
#include <optional>

#include "common/fifo.hpp"

namespace thalweg {

/// A value pushed in cycle t is at the front in t+2 at the earliest; holds `depth` values plus the one at the front. A
/// full FIFO accepts nothing, even while it is popped.
template <class T>
class RamFifo {
 public:
  explicit RamFifo(std::size_t depth) : memory_(depth) {}

  [[nodiscard]] bool ready() const { return memory_.ready(); }
  [[nodiscard]] bool valid() const { return front_.has_value(); }
  [[nodiscard]] const T& front() const { return *front_; }
  [[nodiscard]] bool empty() const { return !memory_.valid() && !front_; }
  [[nodiscard]] std::size_t size() const { return memory_.size(); }  ///< excluding the one at the front

  /// One clock edge. push: an offered value, or nullptr; accepted when ready(). pop: takes the value at the front.
  void step(const T* push, bool pop) {
    if (pop) front_.reset();
    const bool loads = !front_ && memory_.valid();
    if (loads) front_ = memory_.front();
    memory_.step(push, loads);
  }

 private:
  Fifo<T> memory_;
  std::optional<T> front_;
};

}  // namespace thalweg
