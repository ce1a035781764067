// SPDX-License-Identifier: Apache-2.0
// Interface of a Verilated rank in the simulator: its ports at each clock edge. No output depends combinationally on an input.
#pragma once

#include <cstdint>
#include <vector>

#include "smi/node_model.hpp"

namespace thalweg::smi {

class NodeCircuit {
 public:
  struct Outputs {
    struct Link {
      bool packet_ready = false, valid = false;
      Packet packet;
    };
    struct At {
      bool open_ready = false, element_ready = false, valid = false;
      Element element;  ///< `flush` is never set
    };
    std::vector<Link> links;
    std::vector<At> endpoints;
    std::uint64_t strays = 0, unrouted = 0;
  };

  virtual ~NodeCircuit() = default;
  /// Loads an entry of a send or receive kernel's table; before the first edge.
  virtual void load(bool receive, unsigned link, unsigned index, unsigned to) = 0;
  /// Registered outputs before the next edge.
  [[nodiscard]] virtual const Outputs& outputs() = 0;
  virtual void edge(const NodeModel::Inputs& in) = 0;
};

}  // namespace thalweg::smi
