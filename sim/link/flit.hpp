// SPDX-License-Identifier: Apache-2.0
// Flits: the unit of transfer of a network port, one per cycle.
#pragma once

#include <cstdint>

#include "core/types.hpp"

namespace thalweg {

/// Payload and sideband signals. A head flit's payload starts with the network packet's header (spec/packets).
template <unsigned Bits>
struct FlitOf {
  Word<Bits> data{};
  std::uint8_t vc = 0;  ///< virtual channel at the receiving input port
  bool head = false;
  bool tail = false;
};
using Flit = FlitOf<256>;

}  // namespace thalweg
