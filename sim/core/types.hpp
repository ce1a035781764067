// SPDX-License-Identifier: Apache-2.0
// Basic types of the simulator.
#pragma once

#include <array>
#include <cstdint>

namespace thalweg {

/// Simulated time in ticks of the cluster's base clock; its length is the cluster's.
using Tick = std::int64_t;

/// No time: an event that is not foreseen.
inline constexpr Tick kNever = INT64_MAX;

using NodeId = std::uint32_t;

/// What a port of so many bits carries in one cycle, in words of 64 bits, lowest first.
template <unsigned Bits>
  requires(Bits % 64 == 0)
using Word = std::array<std::uint64_t, Bits / 64>;

}  // namespace thalweg
