// SPDX-License-Identifier: Apache-2.0
// Common interface of a rank's endpoints, the hardware of a port between a kernel and the transport. A kernel opens a channel, and
// writes or reads elements; the transport receives and delivers packets.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/types.hpp"
#include "smi/packet.hpp"
#include "thalweg_spec.hpp"

namespace thalweg::smi {

/// Opens a channel. Ranks of a communicator are first, first + stride, ...: `size` of them, counted from 0.
struct Open {
  std::uint32_t count = 0;  ///< elements: of a message; of scatter and gather those of one rank
  spec::Datatype type{};
  unsigned size = 0;        ///< log2 of an element's bytes
  spec::Operator op{};      ///< of a reduction
  unsigned per_packet = 1;  ///< elements that a packet has at most
  unsigned window = 0;      ///< push, pop: packets that may be under way and not yet taken; 0: as many as go (eager)
  /// push: that follow in circuits, in all; 0: packets have headers. The window is 0.
  std::uint32_t packets = 0;
  unsigned peer = 0;  ///< push: destination; pop: source; as ranks of the whole cluster
  unsigned root = 0;  ///< of a collective, as a rank of the communicator, as own is
  unsigned own = 0;
  unsigned first = 0, stride = 1, ranks = 1;  ///< the communicator
  unsigned arity = 1;  ///< of the collective's tree: who has place v gets from or gives to places arity * v + 1 ...
      ///< arity * v + arity; place 0 is the root's, the others follow. ranks - 1: linear, as in the paper
  unsigned tile = 0;       ///< reduce: elements that are granted at once
  bool any_order = false;  ///< reduce: contributions are combined as they come

  /// A member of the communicator, as a rank of the whole cluster.
  [[nodiscard]] unsigned rank(unsigned member) const { return first + stride * member; }
};

/// An element between kernel and endpoint, in the lowest bytes.
struct Element {
  std::uint64_t data = 0;
  bool flush = false;   ///< push: its packet leaves at once
  unsigned source = 0;  ///< pop: the rank that it comes from
};

/// C++ model of the endpoints' hardware, which all have these ports. Outputs depend on registers alone.
class Endpoint {
 public:
  struct Config {
    unsigned rank = 0, port = 0;
    unsigned packet_bytes = 32;
    unsigned size = 2;       ///< pop: log2 of its elements' bytes
    unsigned latency = 8;    ///< of lanes, cycles
    unsigned children = 15;  ///< reduce: most ranks that one collects from
    unsigned tile = 32;      ///< reduce: elements of a tile, at most
    unsigned circuits = 0;   ///< push, pop: packets that follow in a circuit, at most; 0: there are none
  };
  /// What comes in a cycle; null where nothing does.
  struct Inputs {
    const Open* open = nullptr;
    const Element* element = nullptr;  ///< from the kernel
    bool element_taken = false;        ///< by the kernel, where one is shown
    const Packet* data = nullptr;      ///< from the receive kernel
    const Packet* control = nullptr;   ///< always taken
    bool packet_taken = false;         ///< by the send kernel, where one is shown
  };

  virtual ~Endpoint() = default;
  [[nodiscard]] virtual bool open_ready() const = 0;
  [[nodiscard]] virtual bool element_ready() const = 0;
  [[nodiscard]] virtual bool data_ready() const = 0;
  [[nodiscard]] virtual const Element* element() const = 0;  ///< for the kernel
  [[nodiscard]] virtual const Packet* packet() const = 0;    ///< for the send kernel
  /// Is it the last one that is to stand together: alone, or of a circuit?
  [[nodiscard]] virtual bool packet_last() const { return true; }
  /// As long as nothing is accepted, does a step change nothing?
  [[nodiscard]] virtual bool idle() const = 0;
  /// So many steps, where it is idle.
  virtual void skip(Tick) {}
  /// Is a channel open? What it waits for, for people: "credits of rank 3", "data of rank 2"; empty where none is.
  [[nodiscard]] virtual std::string waits() const = 0;
  /// One clock edge.
  virtual void step(const Inputs& in) = 0;

 protected:
  /// Before a step: does something come in or leave in it? What is shown and not taken does not.
  [[nodiscard]] bool accepts(const Inputs& in) const {
    return (in.open && open_ready()) || (in.element && element_ready()) || in.element_taken ||
           (in.data && data_ready()) || in.control || in.packet_taken;
  }
};

enum class EndpointKind : std::uint8_t { push, pop, broadcast, scatter, gather, reduce };

/// Endpoint number i of a rank is at the rank's link port i modulo their number.
struct EndpointOf {
  EndpointKind kind{};
  unsigned port = 0;
  unsigned buffer = 16;  ///< packets of data that it holds for its kernel
  unsigned size = 2;     ///< log2 of its elements' bytes
};

[[nodiscard]] std::unique_ptr<Endpoint> make_endpoint(EndpointKind kind, const Endpoint::Config& config);

}  // namespace thalweg::smi
