// SPDX-License-Identifier: Apache-2.0
// Interface of a board to its rank's hardware: the C++ model or the Verilated rank, cycle by cycle. Outputs depend on registers only.
#pragma once

#include <cstdint>
#include <vector>

#include "core/types.hpp"
#include "smi/endpoint.hpp"

namespace thalweg::smi {

class NodeModel {
 public:
  struct Config {
    unsigned rank = 0;
    unsigned links = 4;
    unsigned packet_bytes = 32;
    unsigned reads = 8;      ///< consecutive reads of one input before the next is polled (R in the paper)
    unsigned depth = 16;     ///< of a FIFO between send and receive kernels, in packets
    unsigned latency = 8;    ///< of lanes, cycles
    unsigned children = 15;  ///< maximum children in a reduction
    unsigned tile = 32;      ///< maximum elements of a reduction's tile
    unsigned circuits = 0;   ///< maximum number of further packets in a circuit; 0: no circuits
    std::vector<EndpointOf> endpoints;
  };
  struct Inputs {
    struct Link {
      const Packet* packet = nullptr;
      bool taken = false;  ///< packet() is accepted
    };
    struct At {
      const Open* open = nullptr;
      const Element* element = nullptr;
      bool taken = false;  ///< element() is accepted
    };
    Inputs(unsigned links_of, unsigned endpoints_of) : links(links_of), endpoints(endpoints_of) {}

    std::vector<Link> links;
    std::vector<At> endpoints;
  };

  /// What the ports show before the next edge.
  struct Outputs {
    struct Link {
      const Packet* packet = nullptr;
      bool packet_ready = false;
    };
    struct At {
      const Element* element = nullptr;
      bool open_ready = false, element_ready = false;
    };
    std::vector<Link> links;
    std::vector<At> endpoints;
  };

  virtual ~NodeModel() = default;
  [[nodiscard]] virtual unsigned links() const = 0;

  /// Loads a table entry of a link's send kernel (`index`: rank) or receive kernel (port * 2 + control); before packets move.
  virtual void load_send(unsigned link, unsigned index, unsigned to) = 0;
  virtual void load_receive(unsigned link, unsigned index, unsigned to) = 0;

  [[nodiscard]] virtual const Outputs& outputs() const = 0;
  /// Describes what an endpoint waits for (Endpoint::waits).
  [[nodiscard]] virtual std::string waits(unsigned endpoint) const = 0;
  /// Numbers of dropped packets: to ports without an endpoint (strays), and to ranks without a route.
  [[nodiscard]] virtual std::uint64_t strays() const = 0;
  [[nodiscard]] virtual std::uint64_t unrouted() const = 0;

  /// What an endpoint foresees of its stream of elements; null: nothing.
  [[nodiscard]] virtual Foresight<Element>* foresight(unsigned) { return nullptr; }

  /// One clock edge.
  virtual void step(const Inputs& in) = 0;
  /// The number of coming cycles in which, without inputs, steps change only polling positions.
  [[nodiscard]] virtual Tick rest() const = 0;
  /// Executes `cycles` edges without inputs, at most rest().
  virtual void skip(Tick cycles) = 0;
};

}  // namespace thalweg::smi
