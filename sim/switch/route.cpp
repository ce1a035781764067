// SPDX-License-Identifier: Apache-2.0
#include "switch/route.hpp"

namespace thalweg {

RouteTable::RouteTable(const RouterConfig& config, NodeId self, RouteRow row)
    : self_(self),
      header_(config.header),
      link_ports_(config.link_ports),
      ejects_(config.local_ports > 1),
      row_(std::move(row)) {
  for (const auto& masks : config.vc_mask) {
    auto& channels = channels_.emplace_back();
    std::uint16_t all = 0;
    std::vector<std::uint8_t> class_of(config.virtual_channels);
    for (auto mask = masks.rbegin(); mask != masks.rend(); ++mask)  // in reverse order, so that the first class wins
      for (unsigned vc = 0; vc < config.virtual_channels; ++vc)
        if (*mask >> vc & 1) class_of[vc] = static_cast<std::uint8_t>(masks.rend() - mask - 1);
    for (const auto mask : masks) {
      channels.push_back(static_cast<std::uint16_t>(mask));
      all |= static_cast<std::uint16_t>(mask);
    }
    all_channels_.push_back(all);
    class_of_.push_back(std::move(class_of));
  }
}

Route RouteTable::find(NodeId destination, bool for_unit, unsigned channel) const {
  const std::size_t message_class = for_unit && channels_.size() > 1;
  const bool ejects = for_unit && ejects_;
  if (destination == self_) {
    if (ejects) return {};
    return {static_cast<std::uint8_t>(link_ports_), all_channels_[message_class]};
  }
  const auto [port, entry_class, last_link] = row_[destination];
  if (port == kNoRoute) return {};
  const auto route_class = entry_class == kKeepClass ? class_of_[message_class][channel] : entry_class;
  return {port, channels_[message_class][route_class], ejects && last_link};
}

}  // namespace thalweg
