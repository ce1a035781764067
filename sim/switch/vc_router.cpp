// SPDX-License-Identifier: Apache-2.0
#include "switch/vc_router.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>

#include "common/arbiter.hpp"
#include "common/bits.hpp"
#include "link/flow.hpp"
#include "switch/route.hpp"

namespace thalweg {

template <class Mask>
class VcRouter::Pipeline final : public Stages {
 public:
  static constexpr unsigned kChannels = 8 * sizeof(Mask);
  static constexpr unsigned kNone = ~0u;

  Pipeline(const RouterConfig& config, NodeId self, RouteRow row);

  Inbox& inbox(unsigned channel) override { return inbox_[channel / 64]; }
  [[nodiscard]] unsigned depth(unsigned port) const override { return port_[port].depth; }
  FlitWire connect_input(unsigned port, Tick latency, EventWire back) override;
  FlitWire connect_ejection(unsigned, Tick latency, FlitSink& to) override { return to.connect(latency + 1); }
  void connect_output(unsigned port, FlitWire to, unsigned depth, RateLimit rate, FlitWire eject,
                      const Level* ready) override;
  bool step(Tick now) override;
  [[nodiscard]] std::uint64_t flits_sent(unsigned port) const override { return port_[port].sent; }
  [[nodiscard]] std::uint64_t flits_unrouted() const override { return unrouted_; }
  [[nodiscard]] bool empty() const override { return occupied_ == 0; }
  [[nodiscard]] std::vector<Blocked> blocked() const override;

 private:
  struct Input {
    std::uint16_t allowed = 0;  ///< channels of the output port permitted for the packet
    std::uint8_t port = 0;      ///< output port
    std::uint8_t output = 0;    ///< output channel
    bool sinks = false;         ///< the packet is ejected and needs no room there
    Arbiter choose_channel;
  };
  struct Output {
    FlowSender flow;
    std::uint8_t owner = 0;  ///< owning input channel
    Arbiter choose_input;
  };
  struct alignas(64) Port {
    FlitWire to, eject;       ///< wires of the output port
    std::uint64_t sent = 0;   ///< flits sent by the output port
    Arbiter choose_port;      ///< output port's arbiter over input ports
    Arbiter choose_vc;        ///< input port's arbiter over virtual channels
    std::uint16_t depth = 0;  ///< depth of the input port's buffers
    EventWire back;           ///< to the sender into the input port
  };

  void compute_routes(Mask inputs);
  void allocate_channels(Mask inputs);
  [[nodiscard]] Mask allocate_switch(Tick now, Mask inputs);
  [[gnu::noinline]] void arbitrate_channels(Mask inputs);
  [[nodiscard, gnu::noinline]] Mask arbitrate_switch(Tick now, Mask inputs);
  void traverse(Tick now, unsigned input);
  void drop(Tick now, unsigned input);
  void receive_flow(Mask events);
  void send_stops(Tick now, Mask pushed, Mask popped);
  [[nodiscard]] Mask without_closed(Tick now, Mask inputs) const;

  /// The output channel that an input channel requests; kNone if none is free.
  [[nodiscard]] unsigned requested(unsigned i) const {
    const Input& input = input_[i];
    const unsigned base = static_cast<unsigned>(input.port) << bits_;
    const auto candidates = static_cast<std::uint64_t>(free_ >> base & input.allowed);
    return candidates ? base | input.choose_channel.pick(candidates) : kNone;
  }
  void own(unsigned i, unsigned o);
  /// Moves the pointers of the switch's arbiters past an input channel.
  void accept(unsigned i) {
    port_[input_[i].port].choose_port.accept(i >> bits_, ports_);
    port_[i >> bits_].choose_vc.accept(vc_of(i), channels_);
  }

  [[nodiscard]] unsigned vc_of(unsigned channel) const { return channel & ((1u << bits_) - 1); }
  static constexpr Mask bit(unsigned index) { return Mask{1} << index; }
  static constexpr bool is_one(Mask mask) { return mask && !(mask & (mask - 1)); }

  // Masks over input channels: the pipeline's state. A channel with a flit that is neither waiting nor active computes
  // its route.
  Mask occupied_ = 0;  ///< has a flit
  Mask waiting_ = 0;   ///< has a route, waits for an output channel
  Mask lost_ = 0;      ///< of these: unroutable, to be dropped
  Mask active_ = 0;    ///< has an output channel
  Mask sendable_ = 0;  ///< active, and permitted to send by its output channel's flow control; or lost
  Mask free_ = 0;      ///< over output channels: without an owner

  unsigned bits_, channels_, ports_;
  FlowControl flow_;
  std::uint64_t unrouted_ = 0;  ///< flits
  std::uint64_t limited_ = 0;   ///< output ports whose link does not accept a flit in every cycle
  std::array<Inbox, kChannels / 64> inbox_;
  std::array<Input, kChannels> input_;
  std::array<Output, kChannels> output_;
  FlitBuffers buffers_;
  std::array<FlowReceiver, kChannels> stop_;  ///< with margin flow control
  std::vector<RateLimit> rate_;               ///< per output port
  RouteTable table_;
  Share share_;
  std::vector<RateLimit> read_rate_;  ///< per input port, if the share is narrow; all outputs then have a limit
  std::vector<Port> port_;
  std::vector<const Level*> ready_;  ///< per output port; null: always ready
};

template <class Mask>
VcRouter::Pipeline<Mask>::Pipeline(const RouterConfig& config, NodeId self, RouteRow row)
    : bits_(static_cast<unsigned>(std::bit_width(config.virtual_channels - 1))),
      channels_(config.virtual_channels),
      ports_(config.link_ports + config.local_ports),
      flow_(config.flow),
      table_(config, self, std::move(row)),
      share_(config.share) {
  port_.resize(ports_);
  rate_.resize(ports_);
  read_rate_.resize(ports_, RateLimit(share_.flits, share_.cycles));
  ready_.resize(ports_);
  for (unsigned port = 0; port < ports_; ++port) {
    const unsigned depth = port < config.link_ports ? config.buffer_flits : config.local_buffer_flits;
    if (depth == 0) throw std::invalid_argument("an input buffer holds at least one flit");
    // Local wires have a latency of one cycle, which determines their margin.
    const auto margin =
        port < config.link_ports ? config.margin_flits : static_cast<unsigned>(least_margin(1, config.share));
    if (flow_ == FlowControl::margin && margin >= depth)
      throw std::invalid_argument("a port's margin must be smaller than its input buffer");
    for (unsigned vc = 0; vc < channels_; ++vc) {
      const unsigned channel = port << bits_ | vc;
      stop_[channel] = FlowReceiver(flow_, depth, margin);
      free_ |= bit(channel);
    }
    port_[port].depth = static_cast<std::uint16_t>(depth);
  }
}

template <class Mask>
FlitWire VcRouter::Pipeline<Mask>::connect_input(unsigned port, Tick latency, EventWire back) {
  for (unsigned vc = 0; vc < channels_; ++vc) buffers_.set_depth(port << bits_ | vc, port_[port].depth);
  port_[port].back = back;
  return FlitWire(inbox(port << bits_), buffers_, port << bits_, latency);
}

template <class Mask>
void VcRouter::Pipeline<Mask>::connect_output(unsigned port, FlitWire to, unsigned depth, RateLimit rate,
                                              FlitWire eject, const Level* ready) {
  port_[port].to = to;
  port_[port].eject = eject;
  rate_[port] = rate;
  ready_[port] = ready;
  if (rate.limits() || ready) limited_ |= std::uint64_t{1} << port;
  for (unsigned vc = 0; vc < channels_; ++vc) output_[port << bits_ | vc].flow = FlowSender(flow_, depth);
}

template <class Mask>
bool VcRouter::Pipeline<Mask>::step(Tick now) {
  Mask words, events;
  if constexpr (kChannels == 64) {
    const Arrivals arrivals = inbox_[0].take(now);
    words = arrivals.words;
    events = arrivals.events;
  } else {
    const Arrivals low = inbox_[0].take(now), high = inbox_[1].take(now);
    words = Mask{high.words} << 64 | low.words;
    events = Mask{high.events} << 64 | low.events;
  }
  const Mask sending = occupied_ & sendable_;
  const Mask waiting = waiting_ & ~lost_;
  if (const Mask idle = occupied_ & ~waiting_ & ~active_) compute_routes(idle);
  if (waiting) allocate_channels(waiting);
  const Mask popped = sending ? allocate_switch(now, sending) : 0;
  if (flow_ == FlowControl::margin) send_stops(now, words, popped);
  occupied_ |= words;
  receive_flow(events);
  return (occupied_ & (~active_ | sendable_)) != 0;
}

/// First stage: computes the route of the head flit of each idle channel.
template <class Mask>
void VcRouter::Pipeline<Mask>::compute_routes(Mask inputs) {
  waiting_ |= inputs;
  for (; inputs; inputs &= inputs - 1) {
    const unsigned i = first(inputs);
    Input& input = input_[i];
    const Route route = table_.route(buffers_.front(i).data[0], vc_of(i));
    input.port = route.port;
    input.allowed = route.channels;
    input.sinks = route.sinks;
    if (!route.channels) {
      lost_ |= bit(i);
      sendable_ |= bit(i);
    }
  }
}

/// Second stage: each waiting channel requests one free output channel, each output channel grants one of its requests.
template <class Mask>
void VcRouter::Pipeline<Mask>::allocate_channels(Mask inputs) {
  if (is_one(inputs)) {
    const unsigned i = first(inputs), o = requested(i);
    if (o != kNone) own(i, o);
  } else {
    arbitrate_channels(inputs);
  }
}

template <class Mask>
void VcRouter::Pipeline<Mask>::arbitrate_channels(Mask inputs) {
  Mask wanted = 0;
  std::array<Mask, kChannels> requests;
  for (; inputs; inputs &= inputs - 1) {
    const unsigned i = first(inputs), o = requested(i);
    if (o == kNone) continue;
    requests[o] = (wanted & bit(o) ? requests[o] : 0) | bit(i);
    wanted |= bit(o);
  }
  for (; wanted; wanted &= wanted - 1) {
    const unsigned o = first(wanted);
    own(output_[o].choose_input.pick(requests[o]), o);
  }
}

/// Gives an output channel to an input channel.
template <class Mask>
void VcRouter::Pipeline<Mask>::own(unsigned i, unsigned o) {
  Input& input = input_[i];
  Output& output = output_[o];
  output.choose_input.accept(i, ports_ << bits_);
  output.owner = static_cast<std::uint8_t>(i);
  input.output = static_cast<std::uint8_t>(o);
  input.choose_channel.accept(vc_of(o), channels_);
  free_ &= ~bit(o);
  waiting_ &= ~bit(i);
  active_ |= bit(i);
  if (input.sinks || output.flow.ready()) sendable_ |= bit(i);
}

/// Third stage: each input port nominates one channel, each output port grants one of the input ports that request it.
template <class Mask>
Mask VcRouter::Pipeline<Mask>::allocate_switch(Tick now, Mask inputs) {
  if (!share_.open(now)) return 0;
  if (limited_) inputs = without_closed(now, inputs);
  if (!is_one(inputs) || (lost_ & inputs)) return arbitrate_switch(now, inputs);
  accept(first(inputs));
  traverse(now, first(inputs));
  return inputs;
}

template <class Mask>
Mask VcRouter::Pipeline<Mask>::arbitrate_switch(Tick now, Mask inputs) {
  Mask popped = 0;
  std::uint64_t wanted = 0;
  std::array<std::uint64_t, kMaxPorts> requests;
  std::array<std::uint8_t, kMaxPorts> candidate;
  while (inputs) {
    const unsigned port = first(inputs) >> bits_;
    const Mask group = (bit(1u << bits_) - 1) << (port << bits_);
    const unsigned i =
        port << bits_ | port_[port].choose_vc.pick(static_cast<std::uint64_t>((inputs & group) >> (port << bits_)));
    inputs &= ~group;
    if (lost_ & bit(i)) {
      port_[port].choose_vc.accept(vc_of(i), channels_);
      drop(now, i);
      popped |= bit(i);
      continue;
    }
    const unsigned out = input_[i].port;
    candidate[port] = static_cast<std::uint8_t>(i);
    requests[out] = (wanted >> out & 1 ? requests[out] : 0) | std::uint64_t{1} << port;
    wanted |= std::uint64_t{1} << out;
  }
  for (; wanted; wanted &= wanted - 1) {
    const unsigned out = first(wanted);
    const unsigned i = candidate[port_[out].choose_port.pick(requests[out])];
    accept(i);
    traverse(now, i);
    popped |= bit(i);
  }
  return popped;
}

/// Removes the channels whose output port's link cannot accept a flit in this cycle, or whose input port has no read
/// slot.
template <class Mask>
Mask VcRouter::Pipeline<Mask>::without_closed(Tick now, Mask inputs) const {
  for (Mask rest = inputs; rest; rest &= rest - 1) {
    const unsigned i = first(rest), port = input_[i].port;
    const bool open = lost_ & (rest & -rest) || !(limited_ >> port & 1) ||
                      (rate_[port].ready(now) && (!ready_[port] || ready_[port]->read(now)));
    if (!open || (share_.narrow() && !read_rate_[i >> bits_].ready(now))) inputs &= ~(rest & -rest);
  }
  return inputs;
}

/// Fourth stage, started by the grant: the flit leaves its buffer now, crosses the switch in the next cycle and is in
/// the output register after it; the wire's latency includes that cycle.
template <class Mask>
void VcRouter::Pipeline<Mask>::traverse(Tick now, unsigned i) {
  Input& input = input_[i];
  Output& output = output_[input.output];
  Port& port = port_[input.port];
  Flit& flit = (input.sinks ? port.eject : port.to).write(now, vc_of(input.output));
  const Flit& front = buffers_.front(i);
  flit.data = front.data;
  flit.head = front.head;
  flit.tail = front.tail;
  if (!buffers_.pop(i, now)) occupied_ &= ~bit(i);
  if (flow_ == FlowControl::credits) port_[i >> bits_].back.write(now, std::uint64_t{1} << vc_of(i));
  if (!input.sinks) output.flow.send();
  ++port.sent;
  if (limited_ >> input.port & 1) {
    rate_[input.port].send(now);
    read_rate_[i >> bits_].send(now);
  }
  if (flit.tail) {
    active_ &= ~bit(i);
    sendable_ &= ~bit(i);
    free_ |= bit(input.output);
  } else if (!input.sinks && !output.flow.ready()) {
    sendable_ &= ~bit(i);
  }
}

/// Drops a flit of an unroutable packet from its buffer.
template <class Mask>
void VcRouter::Pipeline<Mask>::drop(Tick now, unsigned i) {
  const bool tail = buffers_.front(i).tail;
  if (!buffers_.pop(i, now)) occupied_ &= ~bit(i);
  if (flow_ == FlowControl::credits) port_[i >> bits_].back.write(now, std::uint64_t{1} << vc_of(i));
  if (share_.narrow()) read_rate_[i >> bits_].send(now);
  ++unrouted_;
  if (!tail) return;
  waiting_ &= ~bit(i);
  lost_ &= ~bit(i);
  sendable_ &= ~bit(i);
}

/// Sends changed stop bits of the buffers that a flit has entered or left.
template <class Mask>
void VcRouter::Pipeline<Mask>::send_stops(Tick now, Mask pushed, Mask popped) {
  for (Mask touched = pushed | popped; touched; touched &= touched - 1) {
    const unsigned i = first(touched);
    if (pushed & bit(i)) stop_[i].push();
    if (popped & bit(i)) stop_[i].pop();
    if (stop_[i].update(popped >> i & 1)) port_[i >> bits_].back.write(now, std::uint64_t{1} << vc_of(i));
  }
}

/// Counts credits and registers stop bits; both are visible from the next cycle.
template <class Mask>
void VcRouter::Pipeline<Mask>::receive_flow(Mask events) {
  for (; events; events &= events - 1) {
    const unsigned o = first(events);
    Output& output = output_[o];
    output.flow.event();
    if (free_ & bit(o) || input_[output.owner].sinks) continue;
    const Mask owner = bit(output.owner);
    sendable_ = output.flow.ready() ? sendable_ | owner : sendable_ & ~owner;
  }
}

template <class Mask>
std::vector<VcRouter::Blocked> VcRouter::Pipeline<Mask>::blocked() const {
  std::vector<Blocked> result;
  for (Mask rest = occupied_; rest; rest &= rest - 1) {
    const unsigned i = first(rest);
    const Input& input = input_[i];
    const Flit& flit = buffers_.front(i);
    result.push_back({.port = i >> bits_,
                      .vc = vc_of(i),
                      .head = flit.head,
                      .destination = table_.header().destination(flit.data[0]),
                      .output = input.port,
                      .output_vc = active_ & bit(i) ? static_cast<int>(vc_of(input.output)) : -1});
  }
  return result;
}

VcRouter::VcRouter(const RouterConfig& config, std::unique_ptr<Stages> stages)
    : bits_(static_cast<unsigned>(std::bit_width(config.virtual_channels - 1))),
      channels_(config.virtual_channels),
      ports_(config.link_ports + config.local_ports),
      pipeline_(std::move(stages)),
      ejected_(config.local_ports > 1 ? config.link_ports : 0) {
  if (config.virtual_channels == 0 || config.virtual_channels > 16)
    throw std::invalid_argument("a port has 1 to 16 virtual channels");
  if (ports_ > kMaxPorts || ports_ << bits_ > kMaxChannels)
    throw std::invalid_argument("a router has at most 64 ports and 128 virtual channels in all");
}

VcRouter::VcRouter(const RouterConfig& config, NodeId self, RouteRow row) : VcRouter(config, nullptr) {
  if (ports_ << bits_ <= 64)
    pipeline_ = std::make_unique<Pipeline<std::uint64_t>>(config, self, std::move(row));
  else
    pipeline_ = std::make_unique<Pipeline<Wide>>(config, self, std::move(row));
}

void VcRouter::bind(Scheduler& scheduler, ComponentId component) {
  for (unsigned channel = 0; channel < ports_ << bits_; channel += 64)
    pipeline_->inbox(channel).bind(scheduler, component);
  for (FlitSink& sink : ejected_) sink.inbox().bind(scheduler, component);
}

EventWire VcRouter::events(unsigned port, Tick latency) {
  const unsigned channel = port << bits_;
  return EventWire(pipeline_->inbox(channel), channel % 64, latency);
}

}  // namespace thalweg
