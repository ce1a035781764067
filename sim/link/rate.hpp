// SPDX-License-Identifier: Apache-2.0
// Rate limiter of a link that is slower than its port.
#pragma once

#include <algorithm>
#include <numeric>

#include "core/types.hpp"

namespace thalweg {

/// Allows at most `flits` flits in any `cycles` consecutive cycles, and that rate on average while flits are waiting.
/// C++ model of rtl/link/tw_rate.sv, an accumulator: it gains `flits` per cycle up to cycles+flits-1; a flit costs
/// `cycles`.
class RateLimit {
 public:
  RateLimit() = default;
  RateLimit(unsigned flits, unsigned cycles) : flits_(flits), cycles_(cycles), level_(cycles_ + flits_ - 1) {}
  /// A limit from values of any size: reduced, and scaled down if they still do not fit (an error of at most 2^-31). A
  /// rate above one flit per cycle becomes one.
  [[nodiscard]] static RateLimit of(Tick flits, Tick cycles) {
    if (flits >= cycles) return {};
    const Tick divisor = std::gcd(flits, cycles);
    flits /= divisor;
    cycles /= divisor;
    for (; cycles > kMost; cycles /= 2) flits = std::max<Tick>(1, flits / 2);
    return {static_cast<unsigned>(flits), static_cast<unsigned>(cycles)};
  }

  [[nodiscard]] bool limits() const { return flits_ < cycles_; }
  [[nodiscard]] unsigned cycles() const { return static_cast<unsigned>(cycles_); }
  [[nodiscard]] bool ready(Tick now) const { return level_at(now) >= cycles_; }
  /// The first ready cycle from `now`, if nothing is sent before.
  [[nodiscard]] Tick next(Tick now) const {
    return now + (std::max<Tick>(0, cycles_ - level_at(now)) + flits_ - 1) / flits_;
  }
  /// Records a flit sent in cycle `now`; requires ready(now).
  void send(Tick now) {
    level_ = level_at(now) - cycles_;
    at_ = now;
  }

 private:
  static constexpr Tick kMost = INT32_MAX;  ///< so that products fit into a Tick

  /// The accumulator is full after at most `cycles` cycles.
  [[nodiscard]] Tick level_at(Tick now) const {
    return std::min(level_ + flits_ * std::min(now - at_, cycles_), cycles_ + flits_ - 1);
  }

  Tick flits_ = 1, cycles_ = 1;
  Tick level_ = 1;
  Tick at_ = 0;
};

}  // namespace thalweg
