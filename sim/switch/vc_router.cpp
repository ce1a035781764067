#include "switch/vc_router.hpp"

#include <bit>
#include <stdexcept>

#include "thalweg_spec.hpp"

namespace thalweg {

namespace {

unsigned first(std::uint64_t mask) {
  return static_cast<unsigned>(std::countr_zero(mask));
}

}  // namespace

VcRouter::VcRouter(const RouterConfig& config, NodeId self, std::span<const RouteEntry> row)
    : bits_(static_cast<unsigned>(std::bit_width(config.virtual_channels - 1))),
      channels_(config.virtual_channels),
      ports_(config.link_ports + config.local_ports),
      flow_(config.flow),
      table_(config, self, row) {
  if (channels_ == 0 || channels_ > 16) throw std::invalid_argument("a port has 1 to 16 virtual channels");
  if (ports_ > kMaxPorts || ports_ << bits_ > kMaxChannels)
    throw std::invalid_argument("a router has at most 16 ports and 64 virtual channels in all");
  for (unsigned port = 0; port < ports_; ++port) {
    const unsigned depth = port < config.link_ports ? config.buffer_flits : config.local_buffer_flits;
    if (depth == 0) throw std::invalid_argument("an input buffer holds at least one flit");
    // Local wires take one cycle, and their margin is the one that follows from it.
    const auto margin = port < config.link_ports ? config.margin_flits : static_cast<unsigned>(least_margin(1));
    if (flow_ == FlowControl::margin && margin >= depth)
      throw std::invalid_argument("a port's margin must be smaller than its input buffer");
    for (unsigned vc = 0; vc < channels_; ++vc) {
      const unsigned channel = port << bits_ | vc;
      buffers_.set_depth(channel, depth);
      stop_[channel] = FlowReceiver(flow_, depth, margin);
      free_ |= bit(channel);
    }
    port_[port].depth = static_cast<std::uint16_t>(depth);
  }
}

FlitWire VcRouter::connect_input(unsigned port, Tick latency, EventWire back) {
  port_[port].back = back;
  return FlitWire(inbox_, buffers_, port << bits_, latency);
}

void VcRouter::connect_output(unsigned port, FlitWire to, unsigned depth, RateLimit rate) {
  port_[port].to = to;
  rate_[port] = rate;
  if (rate.limits()) limited_ |= 1u << port;
  for (unsigned vc = 0; vc < channels_; ++vc) output_[port << bits_ | vc].flow = FlowSender(flow_, depth);
}

bool VcRouter::step(Tick now) {
  const Arrivals arrivals = inbox_.take(now);
  const Mask sending = occupied_ & sendable_;
  const Mask waiting = waiting_;
  compute_routes(occupied_ & ~waiting_ & ~active_);
  allocate_channels(waiting);
  const Mask popped = allocate_switch(now, sending);
  if (flow_ == FlowControl::margin) send_stops(now, arrivals.words, popped);
  occupied_ |= arrivals.words;
  receive_flow(arrivals.events);
  return (occupied_ & (~active_ | sendable_)) != 0;
}

/// First stage: the header in front of an idle channel is looked up.
void VcRouter::compute_routes(Mask inputs) {
  waiting_ |= inputs;
  for (; inputs; inputs &= inputs - 1) {
    const unsigned i = first(inputs);
    Input& input = input_[i];
    const Route route = table_.route(buffers_.front(i).data[0], vc_of(i));
    input.port = route.port;
    input.allowed = route.channels;
  }
}

/// Second stage: each waiting channel asks for one free output channel, each output channel takes one of those that
/// ask.
void VcRouter::allocate_channels(Mask inputs) {
  Mask wanted = 0;
  std::array<Mask, kMaxChannels> requests;
  for (; inputs; inputs &= inputs - 1) {
    const unsigned i = first(inputs);
    const Input& input = input_[i];
    const unsigned base = static_cast<unsigned>(input.port) << bits_;
    const Mask candidates = free_ >> base & input.allowed;
    if (!candidates) continue;
    const unsigned o = base | input.choose_channel.pick(candidates);
    requests[o] = (wanted & bit(o) ? requests[o] : 0) | bit(i);
    wanted |= bit(o);
  }
  free_ &= ~wanted;
  for (; wanted; wanted &= wanted - 1) {
    const unsigned o = first(wanted);
    Output& output = output_[o];
    const unsigned i = output.choose_input.pick(requests[o]);
    output.choose_input.accept(i, ports_ << bits_);
    output.owner = static_cast<std::uint8_t>(i);
    input_[i].output = static_cast<std::uint8_t>(o);
    input_[i].choose_channel.accept(vc_of(o), channels_);
    waiting_ &= ~bit(i);
    active_ |= bit(i);
    if (output.flow.ready()) sendable_ |= bit(i);
  }
}

/// Third stage: each input port puts forward one channel, each output port takes one of the input ports that ask for
/// it.
VcRouter::Mask VcRouter::allocate_switch(Tick now, Mask inputs) {
  if (limited_) inputs = without_rate(now, inputs);
  Mask popped = 0;
  std::uint32_t wanted = 0;
  std::array<std::uint32_t, kMaxPorts> requests;
  std::array<std::uint8_t, kMaxPorts> candidate;
  while (inputs) {
    const unsigned port = first(inputs) >> bits_;
    const Mask group = (bit(1u << bits_) - 1) << (port << bits_);
    const unsigned i = port << bits_ | port_[port].choose_vc.pick((inputs & group) >> (port << bits_));
    const unsigned out = input_[i].port;
    candidate[port] = static_cast<std::uint8_t>(i);
    requests[out] = (wanted >> out & 1 ? requests[out] : 0) | 1u << port;
    wanted |= 1u << out;
    inputs &= ~group;
  }
  for (; wanted; wanted &= wanted - 1) {
    const unsigned out = first(wanted);
    const unsigned port = port_[out].choose_port.pick(requests[out]);
    port_[out].choose_port.accept(port, ports_);
    port_[port].choose_vc.accept(vc_of(candidate[port]), channels_);
    traverse(now, candidate[port]);
    popped |= bit(candidate[port]);
  }
  return popped;
}

/// Without the channels whose output port's link cannot take a flit in this cycle.
VcRouter::Mask VcRouter::without_rate(Tick now, Mask inputs) const {
  for (Mask rest = inputs; rest; rest &= rest - 1) {
    const unsigned port = input_[first(rest)].port;
    if (limited_ >> port & 1 && !rate_[port].ready(now)) inputs &= ~(rest & -rest);
  }
  return inputs;
}

/// Fourth stage, begun with the grant: the flit leaves its buffer now, crosses the switch in the next cycle and is in
/// the output register after it; the wire's latency counts that cycle.
void VcRouter::traverse(Tick now, unsigned i) {
  Input& input = input_[i];
  Output& output = output_[input.output];
  Port& port = port_[input.port];
  const Flit& front = buffers_.front(i);
  Flit& flit = port.to.write(now, vc_of(input.output));
  flit.data = front.data;
  flit.head = front.head;
  flit.tail = front.tail;
  if (!buffers_.pop(i, now)) occupied_ &= ~bit(i);
  if (flow_ == FlowControl::credits) port_[i >> bits_].back.write(now, bit(vc_of(i)));
  output.flow.send();
  ++port.sent;
  if (limited_ >> input.port & 1) rate_[input.port].send(now);
  if (flit.tail) {
    active_ &= ~bit(i);
    sendable_ &= ~bit(i);
    free_ |= bit(input.output);
  } else if (!output.flow.ready()) {
    sendable_ &= ~bit(i);
  }
}

/// The stop bits of the buffers that a flit has entered or left.
void VcRouter::send_stops(Tick now, Mask pushed, Mask popped) {
  for (Mask touched = pushed | popped; touched; touched &= touched - 1) {
    const unsigned i = first(touched);
    if (pushed & bit(i)) stop_[i].push();
    if (popped & bit(i)) stop_[i].pop();
    if (stop_[i].update(popped >> i & 1)) port_[i >> bits_].back.write(now, bit(vc_of(i)));
  }
}

/// Credits are counted and stop bits registered; they are seen from the next cycle on.
void VcRouter::receive_flow(Mask events) {
  for (; events; events &= events - 1) {
    const unsigned o = first(events);
    Output& output = output_[o];
    output.flow.event();
    if (free_ & bit(o)) continue;
    const Mask owner = bit(output.owner);
    sendable_ = output.flow.ready() ? sendable_ | owner : sendable_ & ~owner;
  }
}

std::vector<VcRouter::Blocked> VcRouter::blocked() const {
  std::vector<Blocked> result;
  for (Mask rest = occupied_; rest; rest &= rest - 1) {
    const unsigned i = first(rest);
    const Input& input = input_[i];
    const Flit& flit = buffers_.front(i);
    result.push_back({.port = i >> bits_,
                      .vc = vc_of(i),
                      .head = flit.head,
                      .destination = spec::network_header::destination(flit.data[0]),
                      .output = input.port,
                      .output_vc = active_ & bit(i) ? static_cast<int>(vc_of(input.output)) : -1});
  }
  return result;
}

}  // namespace thalweg
