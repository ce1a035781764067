// SPDX-License-Identifier: Apache-2.0
// The rate of a link that is slower than its port.
#pragma once

#include <algorithm>

#include "core/types.hpp"

namespace thalweg {

/// At most `flits` in any `cycles` consecutive cycles, and never less than that share on average while there is
/// something to send. Twin of rtl/link/tw_rate.sv, an accumulator: it gains `flits` a cycle up to cycles+flits-1; a flit costs
/// `cycles`.
class RateLimit {
 public:
  RateLimit() = default;
  RateLimit(unsigned flits, unsigned cycles) : flits_(flits), cycles_(cycles), level_(cycles + flits - 1) {}

  [[nodiscard]] bool limits() const { return flits_ < cycles_; }
  [[nodiscard]] unsigned cycles() const { return static_cast<unsigned>(cycles_); }
  [[nodiscard]] bool ready(Tick now) const { return level_at(now) >= cycles_; }
  /// A flit is sent in cycle `now`; only when ready(now).
  void send(Tick now) {
    level_ = level_at(now) - cycles_;
    at_ = now;
  }

 private:
  [[nodiscard]] Tick level_at(Tick now) const { return std::min(level_ + flits_ * (now - at_), cycles_ + flits_ - 1); }

  Tick flits_ = 1, cycles_ = 1;
  Tick level_ = 1;
  Tick at_ = 0;
};

}  // namespace thalweg
