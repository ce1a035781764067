// SPDX-License-Identifier: Apache-2.0
// FIFO behind a pipeline that cannot stall, C++ model of rtl/common/tw_credited_fifo.sv.
#pragma once

#include <cstddef>

#include "common/ram_fifo.hpp"

namespace thalweg {

/// A place is taken for a value before it comes, in the same cycle at the latest. It is at the front two cycles after it has come.
template <class T>
class CreditedFifo {
 public:
  explicit CreditedFifo(std::size_t depth) : depth_(depth), fifo_(depth) {}

  [[nodiscard]] bool room() const { return taken_ < depth_; }  ///< a place may be taken in this cycle
  [[nodiscard]] bool valid() const { return fifo_.valid(); }
  [[nodiscard]] const T& front() const { return fifo_.front(); }

  /// One clock edge. take: a place is, only where there is room; push: a value that comes, or nullptr; pop: what is at the front is
  /// taken.
  void step(bool take, const T* push, bool pop) {
    taken_ += static_cast<std::size_t>(take);
    taken_ -= static_cast<std::size_t>(pop && valid());
    fifo_.step(push, pop);
  }

 private:
  std::size_t depth_;
  std::size_t taken_ = 0;
  RamFifo<T> fifo_;
};

}  // namespace thalweg
