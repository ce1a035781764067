// SPDX-License-Identifier: Apache-2.0
// Ties virtual time to the wall clock, for real networks and interactive use.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "core/types.hpp"

namespace thalweg::session {

/// Virtual time advances `ratio` times as fast as the wall clock, and never faster. If a busy simulation falls behind by more than a
/// stride, the excess is not caught up. So a timer of T in virtual time takes T / ratio of the wall clock or longer, however this
/// process is scheduled, and a peer has that time to reply.
class WallClock {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `ratio`: seconds of virtual time per second of the wall clock. `stride`: in ticks. Starts at wall time `begin` and tick `now`.
  WallClock(std::int64_t ticks_per_second, double ratio, Tick stride, Time begin, Tick now)
      : ticks_per_ns_(static_cast<double>(ticks_per_second) * ratio * 1e-9), stride_(stride), wall_(begin), now_(now) {}

  /// The tick that virtual time may reach at `wall`. It is at `now`, and the next event is at `next`.
  [[nodiscard]] Tick until(Time wall, Tick now, Tick next) {
    const auto passed = static_cast<double>((wall - wall_).count());
    wall_ = wall;
    due_ += passed * ticks_per_ns_ - static_cast<double>(now - now_);
    now_ = now;
    if (next != kNever) {
      const auto most = static_cast<double>(std::max<Tick>(next - now, 0) + stride_);
      if (due_ > most) behind_ns_ += (due_ - most) / ticks_per_ns_;
      due_ = std::min(due_, most);
    }
    return now + static_cast<Tick>(std::floor(std::max(due_, 0.0)));
  }
  /// Wall time at which virtual time may reach `tick`, as of the last until().
  [[nodiscard]] Time at(Tick tick) const {
    const double ns = (static_cast<double>(tick - now_) - due_) / ticks_per_ns_;
    return wall_ + std::chrono::nanoseconds(std::llround(std::ceil(std::clamp(ns, 0.0, 1e15))));
  }
  /// Seconds of the wall clock by which virtual time has fallen behind.
  [[nodiscard]] double behind_s() const { return behind_ns_ * 1e-9; }

 private:
  double ticks_per_ns_;  ///< ticks per ns of the wall clock
  Tick stride_;
  Time wall_;
  Tick now_;
  double due_ = 0;  ///< ticks that virtual time is behind the wall clock at `now_`; negative: ahead
  double behind_ns_ = 0;
};

}  // namespace thalweg::session
