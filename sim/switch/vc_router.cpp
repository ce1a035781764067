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
  std::size_t places = 0;
  for (unsigned port = 0; port < ports_; ++port) {
    depth_[port] = port < config.link_ports ? config.buffer_flits : config.local_buffer_flits;
    places += std::size_t{depth_[port]} * channels_;
    if (depth_[port] == 0) throw std::invalid_argument("an input buffer holds at least one flit");
    // Local wires take one cycle, and their margin is the one that follows from it.
    const auto margin = port < config.link_ports ? config.margin_flits : static_cast<unsigned>(least_margin(1));
    if (flow_ == FlowControl::margin && margin >= depth_[port])
      throw std::invalid_argument("a port's margin must be smaller than its input buffer");
    for (unsigned vc = 0; vc < channels_; ++vc) {
      const unsigned channel = port << bits_ | vc;
      input_[channel].flow = FlowReceiver(flow_, depth_[port], margin);
      free_ |= bit(channel);
    }
  }
  if (places > UINT16_MAX) throw std::invalid_argument("a router's input buffers hold at most 65535 flits");
  store_.resize(places);
}

Wire<Flit>& VcRouter::connect_input(unsigned port, Tick latency, EventWire back) {
  back_[port] = back;
  from_[port].bind(inbox_, port, latency);
  return from_[port];
}

void VcRouter::connect_output(unsigned port, Wire<Flit>& to, unsigned depth, RateLimit rate) {
  to_[port] = &to;
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
  const Mask pushed = receive_flits(now, arrivals.words);
  send_flow(now, pushed, popped);
  receive_flow(arrivals.events);
  return (occupied_ & (~active_ | sendable_)) != 0;
}

/// First stage: the header in front of an idle channel is looked up.
void VcRouter::compute_routes(Mask inputs) {
  waiting_ |= inputs;
  for (; inputs; inputs &= inputs - 1) {
    const unsigned i = first(inputs);
    Input& input = input_[i];
    const Route route = table_.route(store_.front(input.queue).data[0], vc_of(i));
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
    const unsigned i = port << bits_ | choose_vc_[port].pick((inputs & group) >> (port << bits_));
    const unsigned out = input_[i].port;
    candidate[port] = static_cast<std::uint8_t>(i);
    requests[out] = (wanted >> out & 1 ? requests[out] : 0) | 1u << port;
    wanted |= 1u << out;
    inputs &= ~group;
  }
  for (; wanted; wanted &= wanted - 1) {
    const unsigned out = first(wanted);
    const unsigned port = choose_port_[out].pick(requests[out]);
    choose_port_[out].accept(port, ports_);
    choose_vc_[port].accept(vc_of(candidate[port]), channels_);
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
  Flit& flit = to_[input.port]->write(now);
  flit = store_.front(input.queue);
  flit.vc = static_cast<std::uint8_t>(vc_of(input.output));
  store_.pop(input.queue);
  input.flow.pop();
  if (input.flow.held() == 0) occupied_ &= ~bit(i);
  output.flow.send();
  ++sent_[input.port];
  if (limited_ >> input.port & 1) rate_[input.port].send(now);
  if (flit.tail) {
    active_ &= ~bit(i);
    sendable_ &= ~bit(i);
    free_ |= bit(input.output);
  } else if (!output.flow.ready()) {
    sendable_ &= ~bit(i);
  }
}

/// Flits on the input wires go into their buffers; they are seen from the next cycle on.
VcRouter::Mask VcRouter::receive_flits(Tick now, std::uint32_t ports) {
  Mask pushed = 0;
  for (; ports; ports &= ports - 1) {
    const unsigned port = first(ports);
    const Flit& flit = from_[port].read(now);
    const unsigned i = port << bits_ | flit.vc;
    Input& input = input_[i];
    if (input.flow.full()) throw std::logic_error("an input buffer overflows: its sender ignores flow control");
    store_.push(input.queue, input.flow.held() == 0, flit);
    input.flow.push();
    pushed |= bit(i);
  }
  occupied_ |= pushed;
  return pushed;
}

/// Credits and stop bits for the senders, of the buffers that a flit entered or left.
void VcRouter::send_flow(Tick now, Mask pushed, Mask popped) {
  for (Mask touched = pushed | popped; touched; touched &= touched - 1) {
    const unsigned i = first(touched);
    if (input_[i].flow.update(popped >> i & 1)) back_[i >> bits_].write(now, bit(vc_of(i)));
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
    const Flit& flit = store_.front(input.queue);
    result.push_back({.port = i >> bits_,
                      .vc = vc_of(i),
                      .flits = input.flow.held(),
                      .head = flit.head,
                      .destination = spec::network_header::destination(flit.data[0]),
                      .output = input.port,
                      .output_vc = active_ & bit(i) ? static_cast<int>(vc_of(input.output)) : -1});
  }
  return result;
}

}  // namespace thalweg
