// SPDX-License-Identifier: Apache-2.0
// Common interface of a rank's endpoints: the hardware of a port, between a kernel and the transport. A kernel opens a channel and
// writes or reads elements; the transport accepts and delivers packets.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/stream.hpp"
#include "core/types.hpp"
#include "smi/packet.hpp"
#include "thalweg_spec.hpp"

namespace thalweg::smi {

/// Request to open a channel. A communicator has `ranks` members, numbered from 0: the ranks first, first + stride, ...
struct Open {
  std::uint32_t count = 0;  ///< elements of a message; for scatter and gather, of one rank
  spec::Datatype type{};
  unsigned size = 0;        ///< log2 of an element's bytes
  spec::Operator op{};      ///< of a reduction
  unsigned per_packet = 1;  ///< maximum elements per packet
  unsigned window = 0;      ///< push, pop: maximum packets sent and not yet taken; 0: unlimited (eager)
  /// push: total number of packets that follow in circuits; 0: packets have headers. Requires window 0.
  std::uint32_t packets = 0;
  unsigned peer = 0;  ///< push: destination; pop: source; ranks of the cluster
  unsigned root = 0;  ///< of a collective; a member number, like `own`
  unsigned own = 0;
  unsigned first = 0, stride = 1, ranks = 1;  ///< the communicator
  unsigned arity =
      1;              ///< of the collective's tree: the children of position v are arity * v + 1 ... arity * v + arity;
                      ///< position 0 is the root, the other members follow. ranks - 1: linear, as in the paper
  unsigned tile = 0;  ///< reduce: elements per grant
  bool any_order = false;  ///< reduce: combines contributions in order of arrival

  /// The cluster's rank of a member.
  [[nodiscard]] unsigned rank(unsigned member) const { return first + stride * member; }
};

/// An element between kernel and endpoint, in the lowest bytes.
struct Element {
  std::uint64_t data = 0;
  bool flush = false;   ///< push: sends its packet immediately
  unsigned source = 0;  ///< pop: source rank
};

/// C++ model of the endpoints' hardware, with the ports common to all. Outputs depend on registers only.
class Endpoint {
 public:
  struct Config {
    unsigned rank = 0, port = 0;
    unsigned packet_bytes = 32;
    unsigned size = 2;       ///< pop: log2 of its elements' bytes
    unsigned latency = 8;    ///< of lanes, cycles
    unsigned children = 15;  ///< reduce: maximum number of children
    unsigned tile = 32;      ///< reduce: maximum elements of a tile
    unsigned circuits = 0;   ///< push, pop: maximum number of further packets in a circuit; 0: no circuits
  };
  /// Inputs of a cycle; null: not valid.
  struct Inputs {
    const Open* open = nullptr;
    const Element* element = nullptr;  ///< from the kernel
    bool element_taken = false;        ///< the kernel accepts element()
    const Packet* data = nullptr;      ///< from the receive kernel
    const Packet* control = nullptr;   ///< always accepted
    bool packet_taken = false;         ///< the send kernel accepts packet()
  };

  virtual ~Endpoint() = default;
  [[nodiscard]] virtual bool open_ready() const = 0;
  [[nodiscard]] virtual bool element_ready() const = 0;
  [[nodiscard]] virtual bool data_ready() const = 0;
  [[nodiscard]] virtual const Element* element() const = 0;  ///< to the kernel
  [[nodiscard]] virtual const Packet* packet() const = 0;    ///< to the send kernel
  /// True for the last packet of a circuit, and for packets outside of circuits.
  [[nodiscard]] virtual bool packet_last() const { return true; }
  /// True if a step without a transfer changes nothing.
  [[nodiscard]] virtual bool idle() const = 0;
  /// Executes a number of steps while idle.
  virtual void skip(Tick) {}
  /// Describes what an open channel waits for, e.g. "credits of rank 3", "data of rank 2"; empty if no channel is open.
  [[nodiscard]] virtual std::string waits() const = 0;
  /// One clock edge.
  virtual void step(const Inputs& in) = 0;
  /// What it foresees of its stream of elements; null: nothing.
  [[nodiscard]] virtual Foresight<Element>* foresight() { return nullptr; }

 protected:
  /// True if an input or output is transferred in this step; called before it.
  [[nodiscard]] bool accepts(const Inputs& in) const {
    return (in.open && open_ready()) || (in.element && element_ready()) || in.element_taken ||
           (in.data && data_ready()) || in.control || in.packet_taken;
  }
};

enum class EndpointKind : std::uint8_t { push, pop, broadcast, scatter, gather, reduce };

/// Endpoint number i of a rank is attached to link i modulo the number of links.
struct EndpointOf {
  EndpointKind kind{};
  unsigned port = 0;
  unsigned buffer = 16;  ///< receive buffer, in packets
  unsigned size = 2;     ///< log2 of its elements' bytes
};

[[nodiscard]] std::unique_ptr<Endpoint> make_endpoint(EndpointKind kind, const Endpoint::Config& config);

}  // namespace thalweg::smi
