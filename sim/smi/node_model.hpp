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
    unsigned reads = 8;      ///< of an input on end, R of the paper
    unsigned depth = 16;     ///< packets of a FIFO between send and receive kernels
    unsigned latency = 8;    ///< of lanes, cycles
    unsigned children = 15;  ///< that a reduction's parent has, at most
    unsigned tile = 32;      ///< elements of a reduction's tile, at most
    unsigned circuits = 0;   ///< packets that follow in a circuit, at most; 0: there are none
    std::vector<EndpointOf> endpoints;
  };
  struct Inputs {
    struct Link {
      const Packet* packet = nullptr;
      bool taken = false;  ///< the packet that it shows
    };
    struct At {
      const Open* open = nullptr;
      const Element* element = nullptr;
      bool taken = false;  ///< the element that it shows
    };
    Inputs(unsigned links_of, unsigned endpoints_of) : links(links_of), endpoints(endpoints_of) {}

    std::vector<Link> links;
    std::vector<At> endpoints;
  };

  virtual ~NodeModel() = default;
  [[nodiscard]] virtual unsigned links() const = 0;

  /// Entry `index` of the table of a link's send kernel (a rank) or receive kernel (port * 2 + control); before packets move.
  virtual void load_send(unsigned link, unsigned index, unsigned to) = 0;
  virtual void load_receive(unsigned link, unsigned index, unsigned to) = 0;

  [[nodiscard]] virtual bool packet_ready(unsigned link) const = 0;
  [[nodiscard]] virtual const Packet* packet(unsigned link) const = 0;
  [[nodiscard]] virtual bool open_ready(unsigned endpoint) const = 0;
  [[nodiscard]] virtual bool element_ready(unsigned endpoint) const = 0;
  [[nodiscard]] virtual const Element* element(unsigned endpoint) const = 0;
  /// What an endpoint waits for (Endpoint::waits).
  [[nodiscard]] virtual std::string waits(unsigned endpoint) const = 0;
  /// Packets that were dropped: for ports that the rank does not have, and for ranks without a route.
  [[nodiscard]] virtual std::uint64_t strays() const = 0;
  [[nodiscard]] virtual std::uint64_t unrouted() const = 0;

  /// One clock edge.
  virtual void step(const Inputs& in) = 0;
  /// As long as nothing comes, does a step change nothing but whose turn it is?
  [[nodiscard]] virtual bool idle() const = 0;
  /// So many edges while idle() in which nothing comes.
  virtual void skip(Tick cycles) = 0;
};

}  // namespace thalweg::smi
