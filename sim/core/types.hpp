// SPDX-License-Identifier: Apache-2.0
// Basic types of the simulator.
#pragma once

#include <array>
#include <cstdint>

namespace thalweg {

/// Simulated time in ticks of the cluster's base clock, whose period the cluster defines.
using Tick = std::int64_t;

/// Time of an event that is not foreseen.
inline constexpr Tick kNever = INT64_MAX;

using NodeId = std::uint32_t;

/// Data of a port of `Bits` bits in one cycle, as 64-bit words, lowest first.
template <unsigned Bits>
  requires(Bits % 64 == 0)
using Word = std::array<std::uint64_t, Bits / 64>;

}  // namespace thalweg
