// SPDX-License-Identifier: Apache-2.0
// Moves of tw_move_engine, as the ports of a block under test have them.
#pragma once

#include <bit>
#include <cstdint>

#include "accl/node_circuit.hpp"

namespace accl {

[[nodiscard]] inline std::uint64_t log_of(unsigned bytes) {
  return bytes == 0 ? 0 : static_cast<std::uint64_t>(std::countr_zero(bytes));
}
/// `Made`: the port's move_t.
template <class Made>
[[nodiscard]] Made move_of(const thalweg::accl::NodeCircuit::Move& move) {
  const auto place = [](const thalweg::accl::NodeCircuit::Place& of) {
    return decltype(Made::x){.host = of.host,
                             .at = of.at,
                             .size = log_of(of.bytes),
                             .conversion = static_cast<std::uint64_t>(of.conversion)};
  };
  return {.x_source = static_cast<std::uint64_t>(move.x_source),
          .y_source = static_cast<std::uint64_t>(move.y_source),
          .target = static_cast<std::uint64_t>(move.target),
          .x = place(move.x),
          .y = place(move.y),
          .z = place(move.z),
          .operation = move.operation,
          .datatype = move.datatype,
          .wire_size = log_of(move.wire_bytes),
          .elements = move.elements,
          .from_communicator = move.from_communicator,
          .from = move.from,
          .from_collective = move.from_collective,
          .from_tag = move.from_tag,
          .from_number = move.from_number,
          .to = move.to,
          .to_communicator = move.to_communicator,
          .own_rank = move.own_rank,
          .kind = move.kind,
          .stream = move.stream,
          .to_tag = move.to_tag,
          .to_number = move.to_number};
}

}  // namespace accl
