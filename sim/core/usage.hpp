// SPDX-License-Identifier: Apache-2.0
// Usage of a resource over time: amounts in a bounded number of windows, whose length doubles as time advances. Timelines show it
// for links.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/types.hpp"

namespace thalweg {

class Usage {
 public:
  static constexpr std::size_t kWindows = 128;
  using Amounts = std::array<std::uint64_t, kWindows>;

  /// At a cycle that is not negative.
  void add(Tick cycle, std::uint64_t amount = 1) {
    while ((cycle >> shift_) >= static_cast<Tick>(kWindows)) widen();
    amounts_[static_cast<std::size_t>(cycle >> shift_)] += amount;
  }
  /// Cycles of a window.
  [[nodiscard]] Tick window() const { return Tick{1} << shift_; }
  [[nodiscard]] const Amounts& amounts() const { return amounts_; }
  /// Those up to the last window in which there was something.
  [[nodiscard]] std::vector<std::uint64_t> until_last() const {
    std::vector<std::uint64_t> all(amounts_.begin(), amounts_.end());
    while (!all.empty() && all.back() == 0) all.pop_back();
    return all;
  }

 private:
  void widen() {
    ++shift_;
    for (std::size_t w = 0; w < kWindows; ++w)
      amounts_[w] = 2 * w < kWindows ? amounts_[2 * w] + amounts_[2 * w + 1] : 0;
  }

  int shift_ = 3;  ///< log2 of a window's cycles, so that rates below a word a cycle show
  Amounts amounts_{};
};

/// What one direction of a link carried; its cycles are `period` ticks. Null where nobody counts it.
struct Carried {
  const Usage* words = nullptr;
  Tick period = 1;
};

}  // namespace thalweg
