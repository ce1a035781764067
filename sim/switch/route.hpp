// SPDX-License-Identifier: Apache-2.0
// Route computation: a pure function of the header and the input virtual channel, C++ model of rtl/switch/tw_route.sv.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/types.hpp"
#include "switch/grid_routes.hpp"
#include "switch/router_config.hpp"

namespace thalweg {

struct Route {
  std::uint8_t port = 0;
  std::uint16_t channels = 0;  ///< virtual channels that it may take there; 0: unroutable, dropped
  bool sinks = false;          ///< the next router ejects it at its input, where it needs no room
};

/// A node's routes, by destination.
class RouteRow {
 public:
  RouteRow(std::vector<RouteEntry> entries) : entries_(std::move(entries)) {}
  /// `peers`: the nodes at the far ends of its link ports, which decide RouteEntry::last_link.
  RouteRow(std::shared_ptr<const GridRoutes> grid, NodeId self, std::vector<NodeId> peers)
      : grid_(std::move(grid)), self_(self), peers_(std::move(peers)) {}

  [[nodiscard]] std::size_t size() const { return grid_ ? grid_->tag.size() : entries_.size(); }
  /// RouteEntry::port is kNoRoute if there is no such destination.
  [[nodiscard]] RouteEntry operator[](NodeId destination) const {
    if (destination >= size()) return {.port = kNoRoute};
    if (!grid_) return entries_[destination];
    RouteEntry entry = grid_->entry(self_, destination);
    entry.last_link = entry.port < peers_.size() && peers_[entry.port] == destination;
    return entry;
  }

 private:
  std::vector<RouteEntry> entries_;
  std::shared_ptr<const GridRoutes> grid_;  ///< null: `entries_`
  NodeId self_ = 0;
  std::vector<NodeId> peers_;
};

/// A node's routes, combined with the router's channel masks.
class RouteTable {
 public:
  RouteTable(const RouterConfig& config, NodeId self, RouteRow row);

  [[nodiscard]] const HeaderFields& header() const { return header_; }
  /// `header` is the first word of a head flit, `channel` its virtual channel at the input.
  [[nodiscard]] Route route(std::uint64_t header, unsigned channel) const {
    return route(header_.destination(header), header_.for_unit(header), channel);
  }
  [[nodiscard]] Route route(NodeId destination, bool for_unit, unsigned channel) const {
    const std::uint64_t packet = std::uint64_t{destination} << 8 | for_unit << 7 | channel;
    Found& found = found_[destination * 0x9E3779B1u >> 28];
    if (found.packet != packet) found = {packet, find(destination, for_unit, channel)};
    return found.route;
  }

 private:
  /// A route that was computed last, and its packet: the arguments of route().
  struct Found {
    std::uint64_t packet = ~std::uint64_t{0};
    Route route{};
  };

  [[nodiscard]] Route find(NodeId destination, bool for_unit, unsigned channel) const;

  NodeId self_;
  HeaderFields header_;
  unsigned link_ports_;
  bool ejects_;  ///< nodes have collective units
  RouteRow row_;
  std::vector<std::vector<std::uint16_t>> channels_;  ///< [message class][route class]
  std::vector<std::uint16_t> all_channels_;           ///< [message class], any route class: for the host's port
  std::vector<std::vector<std::uint8_t>> class_of_;   ///< [message class][virtual channel]: its first route class
  mutable std::array<Found, 16> found_;
};

}  // namespace thalweg
