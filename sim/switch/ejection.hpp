// SPDX-License-Identifier: Apache-2.0
// Decides which flits from a link are ejected to the node's unit, if their sender has not marked them.
#pragma once

#include <cstdint>

#include "link/flit.hpp"
#include "switch/router_config.hpp"

namespace thalweg {

/// Decision for one link port; a head flit decides for its packet.
class Ejection {
 public:
  Ejection(const RouterConfig& config, NodeId self)
      : header_(config.header), self_(self), ejects_(config.local_ports > 1) {}

  /// True if this flit is ejected. Call it for every flit of the port, in order.
  [[nodiscard]] bool takes(const Flit& flit) {
    const std::uint32_t channel = 1u << flit.vc;
    if (flit.head) {
      const bool taken = ejects_ && header_.for_unit(flit.data[0]) && header_.destination(flit.data[0]) == self_;
      channels_ = taken ? channels_ | channel : channels_ & ~channel;
    }
    return channels_ & channel;
  }

 private:
  HeaderFields header_;
  NodeId self_;
  bool ejects_;
  std::uint32_t channels_ = 0;  ///< channels whose current packet is ejected
};

}  // namespace thalweg
