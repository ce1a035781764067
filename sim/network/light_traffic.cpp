// SPDX-License-Identifier: Apache-2.0
// The cycles of docs/router.md for flits without payload: handles of their packets. All nodes share their timing wheel,
// queues and packets, and a step costs little more than its grants.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "common/bits.hpp"
#include "network/network.hpp"
#include "network/traffic_model.hpp"
#include "switch/route.hpp"

namespace thalweg {

namespace {

using Mask = std::uint64_t;
constexpr unsigned kChannels = 64;    ///< of a router
constexpr unsigned kMaxDepth = 1024;  ///< of a buffer
constexpr Tick kMaxLatency = 1024;

constexpr Mask bit(unsigned index) {
  return Mask{1} << index;
}

/// A flit: the index of its packet, and its number in the packet.
using FlitHandle = std::uint32_t;
constexpr unsigned kNumberBits = 4;
constexpr unsigned packet_of(FlitHandle flit) {
  return flit >> kNumberBits;
}
constexpr unsigned number_of(FlitHandle flit) {
  return flit & ((1u << kNumberBits) - 1);
}
constexpr FlitHandle kHead = ~FlitHandle{0};  ///< any head flit

// The step's state has no members of character types, whose stores would make the compiler load all others again.

/// The arbiter of common/arbiter.hpp, by its last winner.
class LastWinner {
 public:
  [[nodiscard]] unsigned pick(Mask requests) const {
    const Mask ahead = requests & ~Mask{1} << last_;
    return first(ahead ? ahead : requests);
  }
  void accept(unsigned winner) { last_ = static_cast<std::uint16_t>(winner); }

 private:
  std::uint16_t last_ = 63;  ///< the next request is at 0
};

/// What a node receives in one cycle is a mask of channels of each kind.
enum Kind : unsigned { flits, credits, ejections, injections };  ///< injections: credits of the source
constexpr unsigned kKinds = 4;

/// A wire of one channel: sets a bit at its reader.
struct Wire {
  Mask bit = 0;
  std::uint32_t place = 0;  ///< of the reader's mask in a slot of the inputs
  std::uint32_t delay = 0;  ///< latency, in masks of all nodes
};

struct Input {
  Wire credit;
  Mask allowed = 0;         ///< output channels permitted for the packet
  std::uint32_t queue = 0;  ///< its first entry
  std::uint16_t first = 0;  ///< flit in the queue, modulo its capacity
  std::uint16_t flits = 0;  ///< that have arrived
  std::uint16_t output = 0;
  std::uint16_t from_port = 0, to_port = 0;
  LastWinner choose_channel;
};

struct Output {
  Wire flit;
  std::uint64_t sent = 0;   ///< flits
  std::uint32_t queue = 0;  ///< of the reader's channel
  std::uint16_t end = 0;    ///< of the flits in that queue, modulo its capacity
  std::uint16_t credits = 0;
  std::uint16_t owner = 0;
  LastWinner choose_input;
};

/// Arbiters of an output port and of an input port.
struct Port {
  LastWinner choose_port, choose_channel;
};

/// A channel of the source or of the sink.
struct HostChannel {
  std::uint32_t queue = 0;  ///< of the router's input channel, or of the sink
  std::uint16_t place = 0;  ///< of the next flit in the queue, modulo its capacity
  std::uint16_t credits = 0;
  FlitHandle expected = kHead;
};

/// The packet that a source sends.
struct Injection {
  Tick due = 0;  ///< time of the next packet
  FlitHandle next = 0;
  std::uint16_t sending = 0;  ///< 1 between head and tail
  std::uint16_t vc = 0;
  Mask ready = 0;  ///< channels with credits
};

struct alignas(64) Node {
  Mask occupied = 0, waiting = 0, active = 0;  ///< input channels, by stage; as in VcRouter
  Mask sendable = 0;                           ///< active, with a credit
  Mask free = 0;                               ///< output channels without an owner
  NodeId self = 0;
  Injection injection;
  std::array<Port, kChannels> port;
  std::array<Input, kChannels> input;
  std::array<Output, kChannels> output;
  std::array<HostChannel, 16> source, sink;
  Received received;
};

class LightTraffic final : public TrafficModel {
 public:
  explicit LightTraffic(const TrafficModelConfig& config);

  [[nodiscard]] Tick now() const override { return now_; }
  void advance(Tick until) override;
  [[nodiscard]] PacketSource& source(NodeId node) override { return sources_[index_[node]]; }
  [[nodiscard]] const Received& received(NodeId node) const override { return nodes_[index_[node]].received; }
  [[nodiscard]] std::uint64_t flits_sent(NodeId node, unsigned port) const override {
    std::uint64_t sent = 0;
    for (unsigned vc = 0; vc < channels_; ++vc) sent += nodes_[index_[node]].output[port << bits_ | vc].sent;
    return sent;
  }
  [[nodiscard]] std::uint64_t flits_unrouted(NodeId) const override { return 0; }
  [[nodiscard]] std::vector<VcRouter::Blocked> blocked(NodeId node) const override;
  [[nodiscard]] std::vector<std::string> failures() const override { return {}; }

 private:
  static constexpr unsigned kWheel = 256;      ///< cycles; most packets are created within
  static constexpr unsigned kFlags = 64 / 16;  ///< of awake_ in a word

  void step(unsigned index, Tick now, std::size_t slot);
  void compute_routes(unsigned index, Mask inputs);
  void allocate_channels(Node& node, Mask inputs);
  void allocate_switch(Node& node, std::size_t slot, Mask inputs);
  void arbitrate(Node& node, std::size_t slot, Mask inputs);
  void grant(Node& node, std::size_t slot, unsigned input);
  void eject(Node& node, unsigned index, Tick now, Mask channels);
  bool inject(Node& node, unsigned index, Tick now);

  [[nodiscard]] unsigned vc_of(unsigned channel) const { return channel & ((1u << bits_) - 1); }
  /// The slot of a cycle, as the place of its first mask in inputs_. awake_ has a flag per kKinds of these.
  [[nodiscard]] std::size_t slot(Tick at) const { return static_cast<std::size_t>(at) << slot_bits_ & places_; }
  [[nodiscard]] Wire wire(Kind kind, unsigned index, unsigned channel, Tick latency) const {
    return {bit(channel), index * kKinds + kind, static_cast<std::uint32_t>(latency) << slot_bits_};
  }
  /// Sets the wire's bit in the reader's inputs of a future cycle, in which the reader is stepped.
  void post(std::size_t slot, const Wire& wire) {
    const std::size_t place = ((slot + wire.delay) & places_) + wire.place;
    awake_[place / kKinds] = 1;
    inputs_[place] |= wire.bit;
  }
  void wake_source(unsigned index, Tick now);

  const Window& window_;
  unsigned bits_, channels_, ports_, host_, flits_;
  Tick now_ = 0;
  unsigned slot_bits_;                 ///< log2 of the masks of a slot
  std::size_t places_ = 0;             ///< of all slots - 1
  unsigned entries_ = 0;               ///< capacity of a queue - 1
  std::vector<std::uint16_t> awake_;   ///< per slot and node: 1 if the node is to be stepped
  std::vector<Mask> inputs_;           ///< per slot, node and kind
  std::vector<Node> nodes_;            ///< in the order of steps
  std::vector<FlitHandle> queues_;     ///< of input channels and sinks, written when a flit is sent
  std::vector<PacketSource> sources_;  ///< per index
  std::vector<RouteTable> tables_;     ///< per index
  std::vector<unsigned> index_;        ///< per node
  std::vector<Packet> packets_;
  std::vector<std::uint32_t> spare_;  ///< free entries of packets_
  using Due = std::pair<Tick, unsigned>;
  std::array<std::vector<unsigned>, kWheel> due_;                   ///< nodes whose source creates a packet
  std::priority_queue<Due, std::vector<Due>, std::greater<>> far_;  ///< beyond the wheel
};

LightTraffic::LightTraffic(const TrafficModelConfig& config)
    : window_(config.window),
      bits_(static_cast<unsigned>(std::bit_width(config.fabric.router.virtual_channels - 1))),
      channels_(config.fabric.router.virtual_channels),
      ports_(config.fabric.router.link_ports + config.fabric.router.local_ports),
      host_(config.fabric.router.link_ports),
      flits_(config.traffic.packet_flits),
      slot_bits_(static_cast<unsigned>(std::bit_width((config.fabric.nodes * kKinds - 1) | (kFlags * kKinds - 1)))),
      nodes_(config.fabric.nodes),
      index_(config.fabric.nodes) {
  const NetworkConfig& fabric = config.fabric;
  const Graph graph(fabric);
  const RouterConfig& router = fabric.router;
  Tick longest = 2;
  for (const LinkConfig& link : fabric.links) longest = std::max(longest, link.latency + 1);
  const auto slots = std::bit_ceil(static_cast<std::size_t>(longest) + 1);
  inputs_.resize(slots << slot_bits_);
  awake_.resize(inputs_.size() / kKinds);
  places_ = inputs_.size() - 1;
  const unsigned entries = std::bit_ceil(std::max(router.buffer_flits, router.local_buffer_flits));
  entries_ = entries - 1;
  const unsigned queues = (ports_ << bits_) + channels_;  // of a node; those of its sink are the last
  queues_.resize(nodes_.size() * queues * entries);
  const auto queue = [&](unsigned index, unsigned number) { return (index * queues + number) * entries; };
  for (unsigned index = 0; index < nodes_.size(); ++index) {
    const NodeId self = config.order.empty() ? index : config.order[index];
    index_[self] = index;
    sources_.emplace_back(fabric, config.traffic, self, config.destinations, config.window);
    tables_.emplace_back(router, self, routes_of(fabric, graph, self));
    Node& node = nodes_[index];
    node.self = self;
    for (unsigned port = 0; port < ports_; ++port)
      for (unsigned vc = 0; vc < channels_; ++vc) {
        const unsigned channel = port << bits_ | vc;
        node.free |= bit(channel);
        node.input[channel].queue = queue(index, channel);
        node.input[channel].from_port = static_cast<std::uint16_t>(port);
        node.output[channel].credits =
            static_cast<std::uint16_t>(port < host_ ? router.buffer_flits : router.local_buffer_flits);
      }
    for (unsigned vc = 0; vc < channels_; ++vc) {
      const unsigned channel = host_ << bits_ | vc;
      node.source[vc].queue = queue(index, channel);
      node.source[vc].credits = static_cast<std::uint16_t>(router.local_buffer_flits);
      node.input[channel].credit = wire(injections, index, vc, 1);
      node.sink[vc].queue = node.output[channel].queue = queue(index, (ports_ << bits_) + vc);
      node.output[channel].flit = wire(ejections, index, vc, 2);
    }
    node.injection.ready = (1u << channels_) - 1;
    wake_source(index, -1);
  }
  const auto connect = [&](NodeId from, unsigned port, NodeId to, unsigned to_port, Tick latency) {
    Node& node = nodes_[index_[from]];
    for (unsigned vc = 0; vc < channels_; ++vc) {
      const unsigned own = port << bits_ | vc, other = to_port << bits_ | vc;
      node.output[own].queue = queue(index_[to], other);
      node.output[own].flit = wire(flits, index_[to], other, latency + 1);
      node.input[own].credit = wire(credits, index_[to], other, latency);
    }
  };
  for (const LinkConfig& link : fabric.links) {
    connect(link.node_a, link.port_a, link.node_b, link.port_b, link.latency);
    connect(link.node_b, link.port_b, link.node_a, link.port_a, link.latency);
  }
}

void LightTraffic::wake_source(unsigned index, Tick now) {
  const Tick due = sources_[index].due();
  nodes_[index].injection.due = due;
  if (due == kNever) return;
  if (due - now < kWheel)
    due_[static_cast<std::size_t>(due) % kWheel].push_back(index);
  else
    far_.emplace(due, index);
}

void LightTraffic::advance(Tick until) {
  for (; now_ < until; ++now_) {
    const std::size_t slot = this->slot(now_);
    std::uint16_t* const awake = &awake_[slot / kKinds];
    for (const unsigned index : due_[static_cast<std::size_t>(now_) % kWheel]) awake[index] = 1;
    due_[static_cast<std::size_t>(now_) % kWheel].clear();
    for (; !far_.empty() && far_.top().first <= now_; far_.pop()) awake[far_.top().second] = 1;
    for (unsigned start = 0; start < nodes_.size(); start += kFlags) {
      std::uint64_t flags;
      std::memcpy(&flags, awake + start, sizeof flags);
      if (!flags) continue;
      for (unsigned index = start; index < start + kFlags; ++index)
        if (std::exchange(awake[index], 0)) step(index, now_, slot);
    }
  }
}

void LightTraffic::step(unsigned index, Tick now, std::size_t slot) {
  Node& node = nodes_[index];
  std::array<Mask, kKinds> inputs;
  Mask* const wires = &inputs_[slot + index * kKinds];
  std::copy_n(wires, kKinds, inputs.begin());
  std::fill_n(wires, kKinds, 0);
  const Mask sending = node.occupied & node.sendable;
  const Mask waiting = node.waiting;
  if (const Mask idle = node.occupied & ~waiting & ~node.active) compute_routes(index, idle);
  if (waiting) allocate_channels(node, waiting);
  if (sending) allocate_switch(node, slot, sending);
  for (Mask rest = inputs[flits]; rest; rest &= rest - 1) ++node.input[first(rest)].flits;
  node.occupied |= inputs[flits];
  for (Mask rest = inputs[credits]; rest; rest &= rest - 1) {
    const unsigned o = first(rest);
    Output& output = node.output[o];
    if (output.credits++ == 0 && !(node.free & bit(o))) node.sendable |= bit(output.owner);
  }
  if (inputs[ejections]) eject(node, index, now, inputs[ejections]);
  bool busy = (node.occupied & (~node.active | node.sendable)) != 0;
  if (node.injection.sending || node.injection.due <= now) busy |= inject(node, index, now);
  for (Mask rest = inputs[injections]; rest; rest &= rest - 1) ++node.source[first(rest)].credits;
  node.injection.ready |= inputs[injections];
  if (busy) awake_[this->slot(now + 1) / kKinds + index] = 1;
}

void LightTraffic::compute_routes(unsigned index, Mask inputs) {
  Node& node = nodes_[index];
  const RouteTable& table = tables_[index];
  node.waiting |= inputs;
  for (; inputs; inputs &= inputs - 1) {
    const unsigned i = first(inputs);
    Input& input = node.input[i];
    const Packet& packet = packets_[packet_of(queues_[input.queue + (input.first & entries_)])];
    const Route route = table.route(packet.destination, false, vc_of(i));
    input.to_port = route.port;
    input.allowed = Mask{route.channels} << (route.port << bits_);
  }
}

void LightTraffic::allocate_channels(Node& node, Mask inputs) {
  Mask wanted = 0;
  std::array<Mask, kChannels> requests;
  for (; inputs; inputs &= inputs - 1) {
    const unsigned i = first(inputs);
    const Input& input = node.input[i];
    const Mask candidates = node.free & input.allowed;
    if (!candidates) continue;
    const unsigned base = input.to_port << bits_;
    const unsigned o = base | input.choose_channel.pick(candidates >> base);
    requests[o] = (wanted & bit(o) ? requests[o] : 0) | bit(i);
    wanted |= bit(o);
  }
  node.free &= ~wanted;
  for (; wanted; wanted &= wanted - 1) {
    const unsigned o = first(wanted);
    Output& output = node.output[o];
    const unsigned i = output.choose_input.pick(requests[o]);
    Input& input = node.input[i];
    output.choose_input.accept(i);
    output.owner = static_cast<std::uint16_t>(i);
    input.output = static_cast<std::uint16_t>(o);
    input.choose_channel.accept(vc_of(o));
    node.waiting &= ~bit(i);
    node.active |= bit(i);
    if (output.credits) node.sendable |= bit(i);
  }
}

void LightTraffic::allocate_switch(Node& node, std::size_t slot, Mask inputs) {
  if (inputs & (inputs - 1)) {  // more than one: without arbitration if they differ in input ports and output ports
    std::uint64_t from = 0, to = 0;
    for (Mask rest = inputs; rest; rest &= rest - 1) {
      const Input& input = node.input[first(rest)];
      const std::uint64_t in = bit(input.from_port), out = bit(input.to_port);
      if ((from & in) | (to & out)) return arbitrate(node, slot, inputs);
      from |= in;
      to |= out;
    }
  }
  for (; inputs; inputs &= inputs - 1) grant(node, slot, first(inputs));
}

void LightTraffic::arbitrate(Node& node, std::size_t slot, Mask inputs) {
  std::uint64_t wanted = 0;
  std::array<std::uint64_t, kChannels> requests;
  std::array<std::uint16_t, kChannels> candidate;
  while (inputs) {
    const unsigned port = first(inputs) >> bits_;
    const Mask group = (bit(1u << bits_) - 1) << (port << bits_);
    const unsigned i = node.port[port].choose_channel.pick(inputs & group);
    inputs &= ~group;
    const unsigned out = node.input[i].to_port;
    candidate[port] = static_cast<std::uint16_t>(i);
    requests[out] = (wanted & bit(out) ? requests[out] : 0) | bit(port);
    wanted |= bit(out);
  }
  for (; wanted; wanted &= wanted - 1) {
    const unsigned out = first(wanted);
    grant(node, slot, candidate[node.port[out].choose_port.pick(requests[out])]);
  }
}

inline void LightTraffic::grant(Node& node, std::size_t slot, unsigned i) {
  Input& input = node.input[i];
  const unsigned o = input.output;
  Output& output = node.output[o];
  node.port[input.to_port].choose_port.accept(input.from_port);
  node.port[input.from_port].choose_channel.accept(i);
  const FlitHandle flit = queues_[input.queue + (input.first++ & entries_)];
  queues_[output.queue + (output.end++ & entries_)] = flit;
  post(slot, output.flit);
  post(slot, input.credit);
  ++output.sent;
  if (!--input.flits) node.occupied &= ~bit(i);
  const bool more = --output.credits;
  if (number_of(flit) + 1 == flits_) {
    node.active &= ~bit(i);
    node.sendable &= ~bit(i);
    node.free |= bit(o);
  } else if (!more) {
    node.sendable &= ~bit(i);
  }
}

/// The sink takes a flit, checks that it is the one after the channel's last, and returns its credit.
void LightTraffic::eject(Node& node, unsigned index, Tick now, Mask channels) {
  const unsigned vc = first(channels);
  HostChannel& channel = node.sink[vc];
  const FlitHandle flit = queues_[channel.queue + (channel.place++ & entries_)];
  const Packet& packet = packets_[packet_of(flit)];
  if (channel.expected == kHead ? number_of(flit) != 0 || packet.destination != node.self : flit != channel.expected)
    ++node.received.wrong;
  node.received.flits += window_.holds(now);
  post(slot(now), wire(credits, index, host_ << bits_ | vc, 1));
  channel.expected = flit + 1;
  if (number_of(flit) + 1 != flits_) return;
  channel.expected = kHead;
  node.received.packet(packet.identity, mix(packet.identity), packet.created, now, window_);
  spare_.push_back(packet_of(flit));
}

/// The source sends a flit if it has one and a credit. True if it has another, or a packet is due.
bool LightTraffic::inject(Node& node, unsigned index, Tick now) {
  Injection& injection = node.injection;
  PacketSource& source = sources_[index];
  if (!injection.sending) {
    if (source.due() > now) return false;
    const Mask ready = injection.ready & source.channels();
    if (!ready) return true;
    if (spare_.empty()) {
      spare_.push_back(static_cast<std::uint32_t>(packets_.size()));
      packets_.emplace_back();
    }
    Packet& packet = packets_[spare_.back()] = source.begin(ready);
    injection.next = spare_.back() << kNumberBits;
    injection.vc = static_cast<std::uint16_t>(packet.vc);
    injection.sending = 1;
    spare_.pop_back();
    if (source.due() > now)
      wake_source(index, now);
    else
      injection.due = source.due();
  }
  const unsigned vc = injection.vc;
  if (!(injection.ready >> vc & 1)) return true;
  HostChannel& channel = node.source[vc];
  queues_[channel.queue + (channel.place++ & entries_)] = injection.next;
  post(slot(now), wire(flits, index, host_ << bits_ | vc, 1));
  if (!--channel.credits) injection.ready &= ~bit(vc);
  injection.sending = number_of(injection.next++) + 1 < flits_;
  return injection.sending || source.due() <= now;
}

std::vector<VcRouter::Blocked> LightTraffic::blocked(NodeId of) const {
  const Node& node = nodes_[index_[of]];
  std::vector<VcRouter::Blocked> result;
  for (Mask rest = node.occupied; rest; rest &= rest - 1) {
    const unsigned i = first(rest);
    const Input& input = node.input[i];
    const FlitHandle flit = queues_[input.queue + (input.first & entries_)];
    result.push_back({.port = i >> bits_,
                      .vc = vc_of(i),
                      .head = number_of(flit) == 0,
                      .destination = packets_[packet_of(flit)].destination,
                      .output = input.to_port,
                      .output_vc = node.active & bit(i) ? static_cast<int>(vc_of(input.output)) : -1});
  }
  return result;
}

}  // namespace

namespace {

bool has_all_routes(const NetworkConfig& fabric) {
  if (!fabric.grid_routes) {
    for (std::size_t pair = 0; pair < fabric.routes.size(); ++pair)
      if (pair / fabric.nodes != pair % fabric.nodes && fabric.routes[pair].port == kNoRoute) return false;
    return true;
  }
  const auto& [size, entries, tag, coordinates] = *fabric.grid_routes;
  for (std::size_t d = 0; d < size.size(); ++d)
    for (std::size_t i = 0; i < entries[d].size(); ++i)
      if (i % size[d] != i / size[d] % size[d] && entries[d][i].port == kNoRoute) return false;
  return true;
}

}  // namespace

bool has_light_traffic(const NetworkConfig& fabric) {
  const RouterConfig& router = fabric.router;
  const auto bits = std::bit_width(router.virtual_channels - 1);
  const std::size_t channels = std::size_t{router.link_ports + router.local_ports} << bits;
  const unsigned depth = std::max(router.buffer_flits, router.local_buffer_flits);
  if (channels > kChannels || router.buffer_flits == 0 || router.local_buffer_flits == 0 || depth > kMaxDepth ||
      fabric.nodes * channels * std::bit_ceil(depth) > UINT32_MAX)
    return false;
  return has_all_routes(fabric) && router.flow == FlowControl::credits && !router.library && !router.share.narrow() &&
         router.share.frame == 0 && std::ranges::all_of(fabric.links, [](const LinkConfig& link) {
           return !link.faulty() && link.rate_flits == link.rate_cycles && link.latency <= kMaxLatency;
         });
}

std::unique_ptr<TrafficModel> make_light_traffic(const TrafficModelConfig& config) {
  return std::make_unique<LightTraffic>(config);
}

}  // namespace thalweg
