// The wormhole router with virtual channels, twin of rtl/switch/tw_vc_router.sv; docs/router.md has its exact cycles.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/arbiter.hpp"
#include "core/types.hpp"
#include "core/wire.hpp"
#include "fabric/config.hpp"
#include "link/buffer.hpp"
#include "link/flow.hpp"
#include "link/rate.hpp"
#include "switch/route.hpp"

namespace thalweg {

/// Four stages, one cycle each: route computation, virtual-channel allocation, switch allocation, switch traversal.
/// A virtual channel of a port is numbered port << channel_bits() | vc, at most 64 in all; its bit stands for it in
/// every mask, and in the events of the inbox: a credit or a change of the stop bit of that output channel. Not to be
/// moved once it is wired.
class VcRouter {
 public:
  static constexpr unsigned kMaxPorts = 16;
  static constexpr unsigned kMaxChannels = FlitBuffers::kMaxChannels;

  /// `row`: where this node sends a packet for each destination. Throws std::invalid_argument.
  VcRouter(const RouterConfig& config, NodeId self, std::span<const RouteEntry> row);

  // Wiring, before time starts. A port that is left unconnected must not be routed to.

  [[nodiscard]] Inbox& inbox() { return inbox_; }
  [[nodiscard]] unsigned channel_bits() const { return bits_; }
  [[nodiscard]] unsigned ports() const { return ports_; }
  /// Depth of each virtual channel's buffer of an input port, in flits.
  [[nodiscard]] unsigned depth(unsigned port) const { return port_[port].depth; }
  /// The wire into an input port; `latency` >= 1 counts from the writer's step to the step in which the flit is
  /// buffered. `back` takes the port's credits or stop bits, bit vc for channel vc.
  FlitWire connect_input(unsigned port, Tick latency, EventWire back);
  /// Flits of an output port go into `to`, which buffers `depth` flits a channel. `to` has the link's latency plus one:
  /// it is written in the cycle of the switch grant, one before the switch is traversed.
  void connect_output(unsigned port, FlitWire to, unsigned depth, RateLimit rate = {});

  /// One cycle. False: nothing can happen until something arrives (which wakes the component).
  bool step(Tick now);

  // What a report needs.

  [[nodiscard]] std::uint64_t flits_sent(unsigned port) const { return port_[port].sent; }
  [[nodiscard]] bool empty() const { return occupied_ == 0; }

  /// An input channel that holds flits, and what its front waits for.
  struct Blocked {
    unsigned port, vc;
    bool head;           ///< the front is a head flit
    NodeId destination;  ///< of its packet, when it is
    unsigned output;     ///< the port that the packet goes to
    int output_vc;       ///< -1: it waits for a channel there; otherwise for its flow control
  };
  [[nodiscard]] std::vector<Blocked> blocked() const;

 private:
  using Mask = std::uint64_t;

  struct Input {
    std::uint16_t allowed = 0;  ///< channels of the output port that the packet may take
    std::uint8_t port = 0;      ///< output port
    std::uint8_t output = 0;    ///< output channel
    Arbiter choose_channel;
  };
  struct Output {
    FlowSender flow;
    std::uint8_t owner = 0;  ///< input channel
    Arbiter choose_input;
  };
  struct alignas(64) Port {
    FlitWire to;              ///< out of the output port
    std::uint64_t sent = 0;   ///< flits, by the output port
    Arbiter choose_port;      ///< of the output port
    Arbiter choose_vc;        ///< of the input port
    std::uint16_t depth = 0;  ///< of the input port's buffers
    EventWire back;           ///< to what sends into the input port
  };

  void compute_routes(Mask inputs);
  void allocate_channels(Mask inputs);
  [[nodiscard]] Mask allocate_switch(Tick now, Mask inputs);
  void traverse(Tick now, unsigned input);
  void receive_flow(Mask events);
  void send_stops(Tick now, Mask pushed, Mask popped);
  [[nodiscard]] Mask without_rate(Tick now, Mask inputs) const;

  [[nodiscard]] unsigned vc_of(unsigned channel) const { return channel & ((1u << bits_) - 1); }
  static constexpr Mask bit(unsigned index) { return Mask{1} << index; }

  // Masks over input channels: the pipeline's state. A channel with a flit that is neither waiting nor active computes
  // its route.
  Mask occupied_ = 0;  ///< holds a flit
  Mask waiting_ = 0;   ///< has a route, wants an output channel
  Mask active_ = 0;    ///< has an output channel
  Mask sendable_ = 0;  ///< active, and its output channel's flow control lets it send
  Mask free_ = 0;      ///< over output channels: owned by nobody

  unsigned bits_, channels_, ports_;
  FlowControl flow_;
  std::uint32_t limited_ = 0;  ///< output ports whose link has a rate
  Inbox inbox_;
  std::array<Port, kMaxPorts> port_;
  std::array<Input, kMaxChannels> input_;
  std::array<Output, kMaxChannels> output_;
  FlitBuffers buffers_;
  std::array<FlowReceiver, kMaxChannels> stop_;  ///< under margin flow control
  std::array<RateLimit, kMaxPorts> rate_;
  RouteTable table_;
};

}  // namespace thalweg
