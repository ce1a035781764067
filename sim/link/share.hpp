// SPDX-License-Identifier: Apache-2.0
// A job's share of a fabric that several jobs use: some of the 64-bit sub-channels, or some of the time slots.
#pragma once

#include <algorithm>

#include "core/types.hpp"

namespace thalweg {

/// Sub-channels of a flit's width: lanes of 64 bits, the aggregation units' as well as the ports'.
inline constexpr unsigned kSubChannels = 4;

/// A port, or the input of an aggregation unit, moves `flits` flits in `cycles` cycles, and only in the cycles
/// `begin` to `end` of every `frame`. By default it is all the job's.
struct Share {
  unsigned flits = 1, cycles = 1;
  Tick frame = 0;  ///< 0: every cycle is the job's
  Tick begin = 0, end = 0;

  [[nodiscard]] constexpr bool narrow() const { return flits < cycles; }
  /// Cycles that so many flits take on a port.
  [[nodiscard]] constexpr Tick time(Tick n) const { return narrow() ? (n * cycles + flits - 1) / flits : n; }
  /// Cycles from a flit's first bits to its last: it goes on when it is whole.
  [[nodiscard]] constexpr Tick delay() const { return time(1) - 1; }

  [[nodiscard]] constexpr bool open(Tick now) const {
    return frame == 0 || (now % frame >= begin && now % frame < end);
  }
  /// The first open cycle from `now` on.
  [[nodiscard]] constexpr Tick next(Tick now) const {
    return open(now) ? now : now + (begin - now % frame + frame) % frame;
  }
  /// The cycle after that in which the last of `n` flits passes, the first of which does so in the open cycle `now`.
  [[nodiscard]] constexpr Tick after(Tick now, Tick n) const {
    if (frame == 0) return now + time(n);
    const Tick start = now - now % frame, length = end - begin;
    const Tick cycles = now % frame - begin + time(n);  // open ones, from the turn's first on
    return start + (cycles - 1) / length * frame + begin + (cycles - 1) % length + 1;
  }
  /// Most flits that pass a port in so many consecutive cycles.
  [[nodiscard]] constexpr Tick most(Tick n) const {
    const Tick open = frame == 0 ? n : n / frame * (end - begin) + std::min(n % frame, end - begin);
    return narrow() ? (open * flits + cycles - 1) / cycles : open;
  }
};

}  // namespace thalweg
