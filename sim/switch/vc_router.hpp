// SPDX-License-Identifier: Apache-2.0
// The wormhole router with virtual channels, C++ model of rtl/switch/tw_vc_router.sv; docs/router.md describes its
// pipeline.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/types.hpp"
#include "core/wire.hpp"
#include "link/buffer.hpp"
#include "link/endpoint.hpp"
#include "link/rate.hpp"
#include "switch/route.hpp"
#include "switch/router_config.hpp"

namespace thalweg {

/// Four stages, one cycle each: route computation, virtual-channel allocation, switch allocation, switch traversal. A
/// virtual channel of a port has index port << channel_bits() | vc, at most 128 in all. The same bit represents it in
/// all masks, and in the events of an inbox: a credit or a change of the stop bit of that output channel. There is one
/// inbox per 64 channels.
class VcRouter {
 public:
  static constexpr unsigned kMaxPorts = 64;
  static constexpr unsigned kMaxChannels = FlitBuffers::kMaxChannels;

  /// An input channel with flits, and the resource that its first flit waits for.
  struct Blocked {
    unsigned port, vc;
    bool head;           ///< the first flit is a head flit
    NodeId destination;  ///< of its packet, if `head`
    unsigned output;     ///< output port of the packet
    int output_vc;       ///< -1: waits for a virtual channel; otherwise for this one's flow control
  };

  /// The router's implementation: the simulator's, by mask width, or Verilated RTL.
  struct Stages {
    virtual ~Stages() = default;
    virtual Inbox& inbox(unsigned channel) = 0;
    [[nodiscard]] virtual unsigned depth(unsigned port) const = 0;
    virtual FlitWire connect_input(unsigned port, Tick latency, EventWire back) = 0;
    virtual FlitWire connect_ejection(unsigned port, Tick latency, FlitSink& to) = 0;
    virtual void connect_output(unsigned port, FlitWire to, unsigned depth, RateLimit rate, FlitWire eject,
                                const Level* ready) = 0;
    virtual bool step(Tick now) = 0;
    [[nodiscard]] virtual std::uint64_t flits_sent(unsigned port) const = 0;
    [[nodiscard]] virtual std::uint64_t flits_unrouted() const = 0;
    [[nodiscard]] virtual bool empty() const = 0;
    [[nodiscard]] virtual std::vector<Blocked> blocked() const = 0;
  };

  /// `row`: this node's routes, by destination. Throws std::invalid_argument.
  VcRouter(const RouterConfig& config, NodeId self, RouteRow row);
  /// With a different implementation.
  VcRouter(const RouterConfig& config, std::unique_ptr<Stages> stages);

  // Wiring, before time starts. Routes must not use unconnected ports.

  void bind(Scheduler& scheduler, ComponentId component);
  /// The inbox of the first 64 channels.
  [[nodiscard]] Inbox& inbox() { return pipeline_->inbox(0); }
  [[nodiscard]] unsigned channel_bits() const { return bits_; }
  [[nodiscard]] unsigned ports() const { return ports_; }
  /// Buffer depth per virtual channel of an input port, in flits.
  [[nodiscard]] unsigned depth(unsigned port) const { return pipeline_->depth(port); }
  /// The wire into an input port; `latency` >= 1 is from the writer's step to the step in which the flit is buffered.
  /// `back` takes the port's credits or stop bits, bit vc for channel vc.
  FlitWire connect_input(unsigned port, Tick latency, EventWire back) {
    return pipeline_->connect_input(port, latency, back);
  }
  /// Connects an output port to `to`, which buffers `depth` flits per channel. `to` has the link's latency plus one: it
  /// is written in the cycle of the switch grant, one before switch traversal. `eject` takes the flits that the router
  /// at the far end ejects, which always have room. `ready`: permits grants to the port; null: always.
  void connect_output(unsigned port, FlitWire to, unsigned depth, RateLimit rate = {}, FlitWire eject = {},
                      const Level* ready = nullptr) {
    pipeline_->connect_output(port, to, depth, rate, eject, ready);
  }
  /// The wire for flits ejected at a link's input port; same `latency` as the wire into the port.
  FlitWire connect_ejection(unsigned port, Tick latency) {
    return pipeline_->connect_ejection(port, latency, ejected_[port]);
  }
  /// Flits ejected at link port i: collective packets for this node, whole and in order per channel. Empty if no unit
  /// takes them.
  [[nodiscard]] std::span<FlitSink> ejected() { return ejected_; }
  /// The wire that returns an output port's credits or stop bits, bit vc for channel vc.
  [[nodiscard]] EventWire events(unsigned port, Tick latency);

  /// Simulates one cycle. False if nothing can happen until an arrival, which wakes the component.
  bool step(Tick now) { return pipeline_->step(now); }

  // Statistics.

  [[nodiscard]] std::uint64_t flits_sent(unsigned port) const { return pipeline_->flits_sent(port); }
  /// Flits of unroutable packets, which were dropped.
  [[nodiscard]] std::uint64_t flits_unrouted() const { return pipeline_->flits_unrouted(); }
  [[nodiscard]] bool empty() const { return pipeline_->empty(); }
  [[nodiscard]] std::vector<Blocked> blocked() const { return pipeline_->blocked(); }

 private:
  template <class Mask>
  class Pipeline;

  unsigned bits_, channels_, ports_;
  std::unique_ptr<Stages> pipeline_;
  std::vector<FlitSink> ejected_;  ///< per link port
};

}  // namespace thalweg
