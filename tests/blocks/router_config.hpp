// SPDX-License-Identifier: Apache-2.0
// The C++ configuration of a router with the generated RTL parameters, and entries of its routing table.
#pragma once

#include "bisim/bisim.hpp"
#include "switch/router_config.hpp"

namespace blocks {

/// The part that tw_route and tw_vc_router share.
[[nodiscard]] inline thalweg::RouterConfig route_config() {
  using top::Parameters;
  thalweg::RouterConfig config;
  config.link_ports = Parameters::LinkPorts;
  config.local_ports = Parameters::LocalPorts;
  config.virtual_channels = Parameters::Vcs;
  std::uint64_t masks = Parameters::VcMask;
  for (unsigned message_class = 0; message_class < Parameters::MessageClasses; ++message_class) {
    auto& of_class = config.vc_mask.emplace_back();
    for (unsigned route_class = 0; route_class < Parameters::RouteClasses; ++route_class, masks >>= Parameters::Vcs) {
      of_class.push_back(static_cast<std::uint32_t>(masks & ((1U << Parameters::Vcs) - 1)));
    }
  }
  return config;
}

/// The table entry after a write.
[[nodiscard]] inline thalweg::RouteEntry written_entry(const top::Inputs& in) {
  const top::route_entry_t entry = in.table_entry_i.get();
  return {.port = in.table_reachable_i.get() ? static_cast<std::uint8_t>(entry.port) : thalweg::kNoRoute,
          .route_class = entry.keep_class ? thalweg::kKeepClass : static_cast<std::uint8_t>(entry.route_class),
          .last_link = entry.last_link != 0};
}

/// Writes a random route to entry `index`.
inline void write_entry(top::Inputs& next, unsigned index, bisim::Dice& dice, unsigned unreachable_permille) {
  using top::Parameters;
  next.table_valid_i.set(1);
  next.table_index_i.set(index);
  next.table_reachable_i.set(!dice.chance(unreachable_permille));
  const unsigned port = dice.below(Parameters::LinkPorts + 1);
  next.table_entry_i.set({.keep_class = dice.chance(300),
                          .route_class = dice.below(Parameters::RouteClasses),
                          .last_link = port < Parameters::LinkPorts && dice.chance(300),
                          .port = port});
}

}  // namespace blocks
