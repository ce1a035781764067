// SPDX-License-Identifier: Apache-2.0
// Configuration of a network's routers, and the header fields that they use.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/types.hpp"
#include "link/flow.hpp"
#include "link/share.hpp"

namespace thalweg {

class RouterLibrary;  // switch/router_model.hpp

/// Positions of the header fields that routers read, in the first word of a head flit.
struct HeaderFields {
  unsigned destination_lsb = 0;  ///< lowest bit of the destination node
  unsigned destination_bits = 16;
  std::uint64_t unit_mask = 0;  ///< bits of which one is set in packets for a node's unit: message class 1

  [[nodiscard]] constexpr NodeId destination(std::uint64_t word) const {
    return static_cast<NodeId>(word >> destination_lsb & (most_nodes() - 1));
  }
  [[nodiscard]] constexpr std::uint64_t most_nodes() const { return std::uint64_t{1} << destination_bits; }
  [[nodiscard]] constexpr bool for_unit(std::uint64_t word) const { return (word & unit_mask) != 0; }
  /// A header of message class 0.
  [[nodiscard]] constexpr std::uint64_t header(NodeId destination) const {
    return std::uint64_t{destination} << destination_lsb;
  }
};

/// Routing-table entry for one destination. route_class selects the mask; kKeepClass keeps the packet's class.
struct RouteEntry {
  std::uint8_t port = 0;
  std::uint8_t route_class = 0;
  bool last_link = false;  ///< the destination is at the far end of the port's link; set by `make_router`
};
inline constexpr std::uint8_t kKeepClass = 0xFF;
inline constexpr std::uint8_t kNoRoute = 0xFF;  ///< RouteEntry::port: the destination cannot be reached

struct RouterConfig {
  unsigned link_ports = 0;   ///< ports 0 .. link_ports-1 carry links; the same on every node, some may be unconnected
  unsigned local_ports = 1;  ///< ports link_ports .. carry the node's traffic: 0 the host, then the collective unit's
  unsigned virtual_channels = 4;  ///< per port
  unsigned buffer_flits = 8;      ///< input buffer of one virtual channel of a link port
  unsigned local_buffer_flits = 8;
  HeaderFields header;
  FlowControl flow = FlowControl::credits;
  unsigned margin_flits = 0;  ///< FlowControl::margin: free space of a virtual channel at which upstream is stopped
  /// vc_mask[message class][route class]: the virtual channels that a packet may take at the next input port. Message
  /// class 1 is for packets to nodes' units; without units a second row is not needed.
  std::vector<std::vector<std::uint32_t>> vc_mask;
  Share share;                                   ///< share of every port and aggregation unit
  std::shared_ptr<const RouterLibrary> library;  ///< Verilated routers; null: the simulator's own
};

}  // namespace thalweg
