// SPDX-License-Identifier: Apache-2.0
// Virtual ports of a cluster, and names of everything at the crossbars of its nodes.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "vcsn/circuit_table.hpp"
#include "vcsn/ethernet_port.hpp"
#include "vcsn/node.hpp"

namespace thalweg::vcsn {

/// A virtual port of the cluster.
struct VirtualPort {
  unsigned node = 0, port = 0, virtual_port = 0;

  friend auto operator<=>(const VirtualPort&, const VirtualPort&) = default;
};

[[nodiscard]] inline std::string to_string(const VirtualPort& place) {
  return "virtual port " + std::to_string(place.port) + "." + std::to_string(place.virtual_port) + " of node " +
         std::to_string(place.node);
}

[[nodiscard]] inline VirtualPort virtual_port_of(const Circuit& row) {
  return {static_cast<unsigned>(row.address & 0xFFFF), static_cast<unsigned>(row.address >> 16 & 0xFF), row.port};
}
[[nodiscard]] inline Circuit circuit_to(const VirtualPort& place) {
  return {address_of(place.node, place.port), static_cast<std::uint8_t>(place.virtual_port)};
}

/// The virtual port at an input or output of a node's crossbar, if any.
[[nodiscard]] inline std::optional<VirtualPort> virtual_port_at(const Node& of, unsigned number, unsigned place) {
  if (place < of.config.dmas || place >= of.sequencer_place(0)) return std::nullopt;
  const unsigned port = place - of.config.dmas;
  return VirtualPort{number, port / of.config.virtual_ports, port % of.config.virtual_ports};
}

[[nodiscard]] inline std::string engine_name(unsigned number, bool writes, unsigned engine) {
  return (writes ? "write engine " : "read engine ") + std::to_string(engine) + " of node " + std::to_string(number);
}
/// Name of what is at an input of a node's crossbar or, with `output`, at an output.
[[nodiscard]] inline std::string name_at(const Node& of, unsigned number, unsigned place, bool output) {
  if (place < of.config.dmas) return engine_name(number, output, place);
  if (place >= of.kernel_place(0))
    return "kernel " + std::to_string(place - of.kernel_place(0)) + " of node " + std::to_string(number);
  if (place >= of.sequencer_place(0))
    return "sequencer " + std::to_string(place - of.sequencer_place(0)) + " of node " + std::to_string(number);
  return to_string(*virtual_port_at(of, number, place));
}

}  // namespace thalweg::vcsn
