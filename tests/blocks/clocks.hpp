// SPDX-License-Identifier: Apache-2.0
// The clocks of a run as clocks of the simulator.
#pragma once

#include "bisim/bisim.hpp"
#include "core/clock.hpp"

namespace blocks {

[[nodiscard]] inline thalweg::Clock clock(const bisim::Clocks& clocks, std::size_t index) {
  return {static_cast<thalweg::Tick>(clocks.period[index]), static_cast<thalweg::Tick>(clocks.phase[index])};
}

/// The cycle of a clock that ends next.
[[nodiscard]] inline thalweg::Tick cycle(const bisim::Instant& now, std::size_t index) {
  return static_cast<thalweg::Tick>(now.cycle(index));
}

}  // namespace blocks
