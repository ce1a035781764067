// SPDX-License-Identifier: Apache-2.0
// FIFO behind a pipeline that cannot stall, C++ model of rtl/common/tw_credited_fifo.sv.
#pragma once

#include <cstddef>

#include "common/ram_fifo.hpp"

namespace thalweg {

/// An entry is reserved for a value no later than the cycle of its arrival. The value is at the front two cycles after
/// it arrives.
template <class T>
class CreditedFifo {
 public:
  explicit CreditedFifo(std::size_t depth) : depth_(depth), fifo_(depth) {}

  [[nodiscard]] bool room() const { return taken_ < depth_; }  ///< an entry may be reserved in this cycle
  [[nodiscard]] bool valid() const { return fifo_.valid(); }
  [[nodiscard]] const T& front() const { return fifo_.front(); }

  /// One clock edge. take: reserves an entry, requires room(); push: an arriving value, or nullptr; pop: takes the
  /// value at the front.
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
