// SPDX-License-Identifier: Apache-2.0
// A job's share of a fabric used by several jobs: some of the 64-bit sub-channels, or some of the time slots.
#pragma once

#include <algorithm>

#include "core/types.hpp"

namespace thalweg {

/// Sub-channels per flit width: lanes of 64 bits, in ports and aggregation units.
inline constexpr unsigned kSubChannels = 4;

/// A port, or the input of an aggregation unit, moves `flits` flits in `cycles` cycles, only in cycles `begin` to `end`
/// of every `frame`. The default is the full rate.
struct Share {
  unsigned flits = 1, cycles = 1;
  Tick frame = 0;  ///< 0: all cycles belong to the job
  Tick begin = 0, end = 0;

  [[nodiscard]] constexpr bool narrow() const { return flits < cycles; }
  /// Cycles for `n` flits on a port.
  [[nodiscard]] constexpr Tick time(Tick n) const { return narrow() ? (n * cycles + flits - 1) / flits : n; }
  /// Cycles from a flit's first bits to its last: it is forwarded when complete.
  [[nodiscard]] constexpr Tick delay() const { return time(1) - 1; }

  [[nodiscard]] constexpr bool open(Tick now) const {
    return frame == 0 || (now % frame >= begin && now % frame < end);
  }
  /// The first open cycle from `now`.
  [[nodiscard]] constexpr Tick next(Tick now) const {
    return open(now) ? now : now + (begin - now % frame + frame) % frame;
  }
  /// The cycle after the last of `n` flits has passed, if the first passes in the open cycle `now`.
  [[nodiscard]] constexpr Tick after(Tick now, Tick n) const {
    if (frame == 0) return now + time(n);
    const Tick start = now - now % frame, length = end - begin;
    const Tick cycles = now % frame - begin + time(n);  // open cycles, from the start of the turn
    return start + (cycles - 1) / length * frame + begin + (cycles - 1) % length + 1;
  }
  /// Maximum number of flits that pass a port in `n` consecutive cycles.
  [[nodiscard]] constexpr Tick most(Tick n) const {
    const Tick open = frame == 0 ? n : n / frame * (end - begin) + std::min(n % frame, end - begin);
    return narrow() ? (open * flits + cycles - 1) / cycles : open;
  }
};

}  // namespace thalweg
