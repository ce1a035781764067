// SPDX-License-Identifier: Apache-2.0
// Route computation: a pure function of the header and the input virtual channel, C++ model of rtl/switch/tw_route.sv.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/types.hpp"
#include "switch/router_config.hpp"

namespace thalweg {

struct Route {
  std::uint8_t port = 0;
  std::uint16_t channels = 0;  ///< virtual channels that it may take there; 0: unroutable, dropped
  bool sinks = false;          ///< the next router ejects it at its input, where it needs no room
};

/// A node's row of the routing table, combined with the router's channel masks.
class RouteTable {
 public:
  RouteTable(const RouterConfig& config, NodeId self, std::span<const RouteEntry> row);

  [[nodiscard]] const HeaderFields& header() const { return header_; }
  /// `header` is the first word of a head flit, `channel` its virtual channel at the input.
  [[nodiscard]] Route route(std::uint64_t header, unsigned channel) const;

 private:
  NodeId self_;
  HeaderFields header_;
  unsigned link_ports_;
  bool ejects_;  ///< nodes have collective units
  std::vector<RouteEntry> row_;
  std::vector<std::vector<std::uint16_t>> channels_;  ///< [message class][route class]
  std::vector<std::uint16_t> all_channels_;           ///< [message class], any route class: for the host's port
  std::vector<std::vector<std::uint8_t>> class_of_;   ///< [message class][virtual channel]: its first route class
};

}  // namespace thalweg
