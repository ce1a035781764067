// SPDX-License-Identifier: Apache-2.0
// The clocks of a run, and the instants at which they have edges.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dice.hpp"

namespace bisim {

/// For each clock the period and the phase, which is less than the period, in ticks: half of the time that makes all
/// periods whole numbers, so that clocks may have edges in common or between each other's.
struct Clocks {
  std::vector<std::uint64_t> period, phase;

  Clocks(std::span<const std::uint64_t> periods, Dice dice) : period(periods.begin(), periods.end()) {
    for (const std::uint64_t each : period) phase.push_back(dice.below(static_cast<unsigned>(each)));
  }
};

/// A time at which clocks have edges, and for each clock the number of the cycle that ends next.
class Instant {
 public:
  explicit Instant(const Clocks& clocks) : period_(clocks.period), next_(clocks.phase), cycle_(next_.size()) { find(); }

  [[nodiscard]] bool edge(std::size_t clock) const { return edges_ >> clock & 1; }
  [[nodiscard]] unsigned edges() const { return edges_; }
  [[nodiscard]] std::uint64_t cycle(std::size_t clock) const { return cycle_[clock]; }

  void advance() {
    if (next_.size() == 1) return;
    for (std::size_t i = 0; i < next_.size(); ++i) {
      if (!edge(i)) continue;
      next_[i] += period_[i];
      ++cycle_[i];
    }
    find();
  }

 private:
  void find() {
    const auto first = *std::ranges::min_element(next_);
    edges_ = 0;
    for (std::size_t i = 0; i < next_.size(); ++i) edges_ |= static_cast<unsigned>(next_[i] == first) << i;
  }

  std::vector<std::uint64_t> period_, next_, cycle_;
  unsigned edges_ = 0;
};

}  // namespace bisim
