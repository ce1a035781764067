// SPDX-License-Identifier: Apache-2.0
// Interface of the hardware's node in the simulator: its ports, edge by edge. Outputs depend on inputs only through an
// edge.
#pragma once

#include <cstdint>

namespace relay {

class NodeModel {
 public:
  struct Inputs {
    bool in_valid = false, out_ready = false, host_valid = false;
    std::uint64_t in_data = 0, host_data = 0;
  };
  struct Outputs {
    bool in_ready = false, out_valid = false, host_ready = false, done_valid = false;
    std::uint64_t out_data = 0, done_data = 0;
  };

  virtual ~NodeModel() = default;
  /// An edge of one clock or, at one instant, of both.
  virtual void edges(bool net, bool core, const Inputs& in, Outputs& out) = 0;
};

}  // namespace relay
