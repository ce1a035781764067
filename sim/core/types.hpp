// The words that every part of the simulator shares.
#pragma once

#include <array>
#include <cstdint>

namespace thalweg {

/// Simulated time in ticks of the cluster's base clock; a tick's length stands in FabricConfig::ticks_per_second.
using Tick = std::int64_t;

/// No time: an event that is not foreseen.
inline constexpr Tick kNever = INT64_MAX;

using NodeId = std::uint32_t;

/// What moves in one cycle on one port: 256 bits of payload and the side band that the wires carry beside it.
/// A head flit's payload starts with the network packet's header (spec/packets).
struct Flit {
  std::array<std::uint64_t, 4> data{};
  std::uint8_t vc = 0;  ///< virtual channel at the receiving input port
  bool head = false;
  bool tail = false;
};

}  // namespace thalweg
