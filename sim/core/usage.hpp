// SPDX-License-Identifier: Apache-2.0
// Usage of a resource over time: amounts in a bounded number of windows, whose length doubles as time advances.
// Timelines show it for links.
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

  /// Adds an amount at `cycle`, which must not be negative.
  void add(Tick cycle, std::uint64_t amount = 1) {
    while ((cycle >> shift_) >= static_cast<Tick>(kWindows)) widen();
    amounts_[static_cast<std::size_t>(cycle >> shift_)] += amount;
  }
  /// Cycles per window.
  [[nodiscard]] Tick window() const { return Tick{1} << shift_; }
  [[nodiscard]] const Amounts& amounts() const { return amounts_; }
  /// The amounts up to the last nonzero window.
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

  int shift_ = 3;  ///< log2 of cycles per window; starts at 8 cycles, so that rates below a word per cycle are visible
  Amounts amounts_{};
};

/// Words carried by one direction of a link; `period`: ticks per cycle. Null if not counted.
struct Carried {
  const Usage* words = nullptr;
  Tick period = 1;
};

}  // namespace thalweg
