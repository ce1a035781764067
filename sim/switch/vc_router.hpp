// SPDX-License-Identifier: Apache-2.0
// The wormhole router with virtual channels, C++ model of rtl/switch/tw_vc_router.sv; docs/router.md describes its pipeline.
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
#include "switch/router_config.hpp"

namespace thalweg {

/// Four stages, one cycle each: route computation, virtual-channel allocation, switch allocation, switch traversal.
/// A virtual channel of a port is numbered port << channel_bits() | vc, at most 128 in all; its bit stands for it in
/// every mask, and in the events of an inbox: a credit or a change of the stop bit of that output channel. There is an inbox
/// for each 64 channels.
class VcRouter {
 public:
  static constexpr unsigned kMaxPorts = 64;
  static constexpr unsigned kMaxChannels = FlitBuffers::kMaxChannels;

  /// An input channel that holds flits, and what its front waits for.
  struct Blocked {
    unsigned port, vc;
    bool head;           ///< the front is a head flit
    NodeId destination;  ///< of its packet, when it is
    unsigned output;     ///< the port that the packet goes to
    int output_vc;       ///< -1: it waits for a channel there; otherwise for its flow control
  };

  /// The router proper: the simulator's, for as many channels as its masks have bits, or one of RTL.
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

  /// `row`: where this node sends a packet for each destination. Throws std::invalid_argument.
  VcRouter(const RouterConfig& config, NodeId self, std::span<const RouteEntry> row);
  /// With another one's stages.
  VcRouter(const RouterConfig& config, std::unique_ptr<Stages> stages);

  // Wiring, before time starts. A port that is left unconnected must not be routed to.

  void bind(Scheduler& scheduler, ComponentId component);
  /// Of the first 64 channels.
  [[nodiscard]] Inbox& inbox() { return pipeline_->inbox(0); }
  [[nodiscard]] unsigned channel_bits() const { return bits_; }
  [[nodiscard]] unsigned ports() const { return ports_; }
  /// Depth of each virtual channel's buffer of an input port, in flits.
  [[nodiscard]] unsigned depth(unsigned port) const { return pipeline_->depth(port); }
  /// The wire into an input port; `latency` >= 1 counts from the writer's step to the step in which the flit is
  /// buffered. `back` takes the port's credits or stop bits, bit vc for channel vc.
  FlitWire connect_input(unsigned port, Tick latency, EventWire back) {
    return pipeline_->connect_input(port, latency, back);
  }
  /// Flits of an output port go into `to`, which buffers `depth` flits a channel. `to` has the link's latency plus one:
  /// it is written in the cycle of the switch grant, one before the switch is traversed. `eject` leads to what the router
  /// at the other end ejects, for which there always is room. `ready`: a flit may be granted to the port; null: always.
  void connect_output(unsigned port, FlitWire to, unsigned depth, RateLimit rate = {}, FlitWire eject = {},
                      const Level* ready = nullptr) {
    pipeline_->connect_output(port, to, depth, rate, eject, ready);
  }
  /// The wire to what is ejected at the input port of a link; `latency` as of the one into the port.
  FlitWire connect_ejection(unsigned port, Tick latency) {
    return pipeline_->connect_ejection(port, latency, ejected_[port]);
  }
  /// What link port i ejects: flits of collectives for this node, of which each channel's are whole packets in their order.
  /// None where no unit takes them.
  [[nodiscard]] std::span<FlitSink> ejected() { return ejected_; }
  /// The wire by which an output port's credits or stop bits come back, bit vc for channel vc.
  [[nodiscard]] EventWire events(unsigned port, Tick latency);

  /// One cycle. False: nothing can happen until something arrives (which wakes the component).
  bool step(Tick now) { return pipeline_->step(now); }

  // What a report needs.

  [[nodiscard]] std::uint64_t flits_sent(unsigned port) const { return pipeline_->flits_sent(port); }
  /// Of packets that could go nowhere, and were dropped.
  [[nodiscard]] std::uint64_t flits_unrouted() const { return pipeline_->flits_unrouted(); }
  [[nodiscard]] bool empty() const { return pipeline_->empty(); }
  [[nodiscard]] std::vector<Blocked> blocked() const { return pipeline_->blocked(); }

 private:
  template <class Mask>
  class Pipeline;

  unsigned bits_, channels_, ports_;
  std::unique_ptr<Stages> pipeline_;
  std::vector<FlitSink> ejected_;  ///< of each link port
};

}  // namespace thalweg
