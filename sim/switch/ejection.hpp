// SPDX-License-Identifier: Apache-2.0
// Decides which flits from a link are ejected to the node's unit, if their sender has not marked them.
#pragma once

#include <cstdint>

#include "link/flit.hpp"
#include "switch/router_config.hpp"

namespace thalweg {

/// Of one link port: of each packet its head says it.
class Ejection {
 public:
  Ejection(const RouterConfig& config, NodeId self)
      : header_(config.header), self_(self), ejects_(config.local_ports > 1) {}

  /// Is the flit, which comes on its channel, ejected?
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
  std::uint32_t channels_ = 0;  ///< the flits to come of whose packets are taken
};

}  // namespace thalweg
