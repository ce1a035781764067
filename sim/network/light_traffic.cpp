// SPDX-License-Identifier: Apache-2.0
// The cycles of docs/router.md for flits without payload: handles of their packets. All nodes share their timing wheel,
// queues and packets, and a step costs little more than its grants.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <queue>
#include <stdexcept>
#include <utility>

#include "common/bits.hpp"
#include "network/traffic_model.hpp"
#include "switch/route.hpp"

namespace thalweg {

namespace {

using Mask = std::uint64_t;
constexpr unsigned kChannels = 64;  ///< of a router

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

/// What a node receives in one cycle.
struct alignas(32) CycleInputs {
  Mask flits = 0;          ///< input channels
  Mask credits = 0;        ///< output channels
  FlitHandle ejected = 0;  ///< at the sink, plus 1; 0: none
  std::uint16_t ejected_vc = 0;
  std::uint16_t injections = 0;  ///< channels of the source with a credit
};

struct Input {
  Mask allowed = 0;         ///< output channels permitted for the packet
  std::uint32_t queue = 0;  ///< its first entry
  std::uint16_t first = 0;  ///< flit in the queue, modulo its capacity
  std::uint16_t flits = 0;  ///< that have arrived
  std::uint16_t port = 0, output = 0;
  LastWinner choose_channel;
};

struct Output {
  std::uint32_t queue = 0;  ///< of the input channel at the other end
  std::uint16_t end = 0;    ///< of the flits in that queue, modulo its capacity
  std::uint16_t credits = 0;
  std::uint16_t owner = 0;
  LastWinner choose_input;
};

struct Port {
  std::uint64_t sent = 0;     ///< flits
  std::uint32_t peer = 0;     ///< index of the node at the link's other end
  std::uint32_t latency = 0;  ///< of the link
  std::uint32_t base = 0;     ///< first channel of the peer's port
  LastWinner choose_port, choose_channel;
};

/// The packet that a source sends.
struct Injection {
  Tick due = 0;  ///< time of the next packet
  FlitHandle next = 0;
  std::uint16_t sending = 0;  ///< 1 between head and tail
  std::uint16_t vc = 0;
  std::uint32_t ready = 0;  ///< channels with credits
  std::array<std::uint16_t, 16> credits{};
  std::array<std::uint16_t, 16> end{};  ///< as Output::end
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
  std::array<FlitHandle, 16> expected;  ///< the next flit of each channel of the sink
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
    return nodes_[index_[node]].port[port].sent;
  }
  [[nodiscard]] std::uint64_t flits_unrouted(NodeId) const override { return 0; }
  [[nodiscard]] std::vector<VcRouter::Blocked> blocked(NodeId node) const override;
  [[nodiscard]] std::vector<std::string> failures() const override { return {}; }

 private:
  static constexpr unsigned kWheel = 256;      ///< cycles; most packets are created within
  static constexpr unsigned kFlags = 64 / 16;  ///< of awake_ in a word

  void step(unsigned index, Tick now);
  void compute_routes(unsigned index, Mask inputs);
  void allocate_channels(Node& node, Mask inputs);
  void allocate_switch(Node& node, unsigned index, Tick now, Mask inputs);
  void arbitrate(Node& node, unsigned index, Tick now, Mask inputs);
  void grant(Node& node, unsigned index, Tick now, unsigned input);
  void eject(Node& node, unsigned index, Tick now, const CycleInputs& arrivals);
  bool inject(Node& node, unsigned index, Tick now);

  [[nodiscard]] unsigned vc_of(unsigned channel) const { return channel & ((1u << bits_) - 1); }
  [[nodiscard]] std::size_t slot(unsigned index, Tick at) const {
    return static_cast<std::size_t>(at & last_slot_) << node_bits_ | index;
  }
  /// A node's arrivals in a future cycle, in which it is stepped.
  CycleInputs& post(unsigned index, Tick at) {
    const std::size_t place = slot(index, at);
    awake_[place] = 1;
    return arrivals_[place];
  }
  void wake_source(unsigned index, Tick now);

  const Window& window_;
  unsigned bits_, channels_, ports_, host_, flits_;
  Tick now_ = 0;
  Tick last_slot_ = 0;
  unsigned node_bits_;
  unsigned entries_ = 0;               ///< capacity of a queue - 1
  std::vector<std::uint16_t> awake_;   ///< per slot and node: 1 if the node is to be stepped
  std::vector<CycleInputs> arrivals_;  ///< per slot and node
  std::vector<Node> nodes_;            ///< in the order of steps
  std::vector<FlitHandle> queues_;     ///< of the input channels, written when a flit is sent
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
      node_bits_(static_cast<unsigned>(std::bit_width((config.fabric.nodes - 1) | (kFlags - 1)))),
      nodes_(config.fabric.nodes),
      index_(config.fabric.nodes) {
  const NetworkConfig& fabric = config.fabric;
  const RouterConfig& router = fabric.router;
  Tick longest = 2;
  for (const LinkConfig& link : fabric.links) longest = std::max(longest, link.latency + 1);
  const auto slots = std::bit_ceil(static_cast<std::size_t>(longest) + 1);
  last_slot_ = static_cast<Tick>(slots - 1);
  awake_.resize(slots << node_bits_);
  arrivals_.resize(slots << node_bits_);
  const unsigned entries = std::bit_ceil(std::max(router.buffer_flits, router.local_buffer_flits));
  entries_ = entries - 1;
  queues_.resize(nodes_.size() * (ports_ << bits_) * entries);
  const auto queue = [&](unsigned index, unsigned channel) { return (index * (ports_ << bits_) + channel) * entries; };
  for (unsigned index = 0; index < nodes_.size(); ++index) {
    const NodeId self = config.order.empty() ? index : config.order[index];
    index_[self] = index;
    sources_.emplace_back(fabric, config.traffic, self, config.destinations, config.window);
    tables_.emplace_back(router, self,
                         std::span(fabric.routes).subspan(std::size_t{self} * fabric.nodes, fabric.nodes));
    Node& node = nodes_[index];
    node.self = self;
    node.expected.fill(kHead);
    for (unsigned port = 0; port < ports_; ++port)
      for (unsigned vc = 0; vc < channels_; ++vc) {
        const unsigned channel = port << bits_ | vc;
        node.free |= bit(channel);
        node.input[channel].queue = queue(index, channel);
        node.output[channel].credits =
            static_cast<std::uint16_t>(port < host_ ? router.buffer_flits : router.local_buffer_flits);
      }
    node.injection.ready = (1u << channels_) - 1;
    node.injection.credits.fill(static_cast<std::uint16_t>(router.local_buffer_flits));
    wake_source(index, -1);
  }
  const auto connect = [&](NodeId from, unsigned port, NodeId to, unsigned to_port, Tick latency) {
    Node& node = nodes_[index_[from]];
    node.port[port].peer = index_[to];
    node.port[port].base = to_port << bits_;
    node.port[port].latency = static_cast<std::uint32_t>(latency);
    for (unsigned vc = 0; vc < channels_; ++vc)
      node.output[port << bits_ | vc].queue = queue(index_[to], to_port << bits_ | vc);
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
    std::uint16_t* const awake = &awake_[slot(0, now_)];
    for (const unsigned index : due_[static_cast<std::size_t>(now_) % kWheel]) awake[index] = 1;
    due_[static_cast<std::size_t>(now_) % kWheel].clear();
    for (; !far_.empty() && far_.top().first <= now_; far_.pop()) awake[far_.top().second] = 1;
    for (unsigned start = 0; start < nodes_.size(); start += kFlags) {
      std::uint64_t flags;
      std::memcpy(&flags, awake + start, sizeof flags);
      if (!flags) continue;
      for (unsigned index = start; index < start + kFlags; ++index)
        if (std::exchange(awake[index], 0)) step(index, now_);
    }
  }
}

void LightTraffic::step(unsigned index, Tick now) {
  Node& node = nodes_[index];
  const CycleInputs arrivals = std::exchange(arrivals_[slot(index, now)], {});
  const Mask sending = node.occupied & node.sendable;
  const Mask waiting = node.waiting;
  if (const Mask idle = node.occupied & ~waiting & ~node.active) compute_routes(index, idle);
  if (waiting) allocate_channels(node, waiting);
  if (sending) allocate_switch(node, index, now, sending);
  for (Mask rest = arrivals.flits; rest; rest &= rest - 1) ++node.input[first(rest)].flits;
  node.occupied |= arrivals.flits;
  for (Mask rest = arrivals.credits; rest; rest &= rest - 1) {
    const unsigned o = first(rest);
    Output& output = node.output[o];
    if (output.credits++ == 0 && !(node.free & bit(o))) node.sendable |= bit(output.owner);
  }
  if (arrivals.ejected) eject(node, index, now, arrivals);
  bool busy = (node.occupied & (~node.active | node.sendable)) != 0;
  if (node.injection.sending || node.injection.due <= now) busy |= inject(node, index, now);
  for (Mask rest = arrivals.injections; rest; rest &= rest - 1) ++node.injection.credits[first(rest)];
  node.injection.ready |= arrivals.injections;
  if (busy) awake_[slot(index, now + 1)] = 1;
}

void LightTraffic::compute_routes(unsigned index, Mask inputs) {
  Node& node = nodes_[index];
  const RouteTable& table = tables_[index];
  node.waiting |= inputs;
  for (; inputs; inputs &= inputs - 1) {
    const unsigned i = first(inputs);
    Input& input = node.input[i];
    const Packet& packet = packets_[packet_of(queues_[input.queue + (input.first & entries_)])];
    const Route route = table.route(table.header().header(packet.destination), vc_of(i));
    input.port = route.port;
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
    const unsigned base = input.port << bits_;
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

void LightTraffic::allocate_switch(Node& node, unsigned index, Tick now, Mask inputs) {
  // Requests from different input ports for different output ports are granted without arbitration.
  std::uint64_t from = 0, to = 0;
  for (Mask rest = inputs; rest; rest &= rest - 1) {
    const unsigned i = first(rest);
    const std::uint64_t port = bit(i >> bits_), output = bit(node.input[i].port);
    if ((from & port) | (to & output)) return arbitrate(node, index, now, inputs);
    from |= port;
    to |= output;
  }
  for (; inputs; inputs &= inputs - 1) grant(node, index, now, first(inputs));
}

void LightTraffic::arbitrate(Node& node, unsigned index, Tick now, Mask inputs) {
  std::uint64_t wanted = 0;
  std::array<std::uint64_t, kChannels> requests;
  std::array<std::uint16_t, kChannels> candidate;
  while (inputs) {
    const unsigned port = first(inputs) >> bits_;
    const Mask group = (bit(1u << bits_) - 1) << (port << bits_);
    const unsigned i = node.port[port].choose_channel.pick(inputs & group);
    inputs &= ~group;
    const unsigned out = node.input[i].port;
    candidate[port] = static_cast<std::uint16_t>(i);
    requests[out] = (wanted & bit(out) ? requests[out] : 0) | bit(port);
    wanted |= bit(out);
  }
  for (; wanted; wanted &= wanted - 1) {
    const unsigned out = first(wanted);
    grant(node, index, now, candidate[node.port[out].choose_port.pick(requests[out])]);
  }
}

inline void LightTraffic::grant(Node& node, unsigned index, Tick now, unsigned i) {
  Input& input = node.input[i];
  const unsigned o = input.output;
  Output& output = node.output[o];
  Port &from = node.port[i >> bits_], &to = node.port[input.port];
  to.choose_port.accept(i >> bits_);
  from.choose_channel.accept(i);
  const FlitHandle flit = queues_[input.queue + (input.first++ & entries_)];
  if (!--input.flits) node.occupied &= ~bit(i);
  ++to.sent;
  if (input.port < host_) {
    queues_[output.queue + (output.end++ & entries_)] = flit;
    post(to.peer, now + to.latency + 1).flits |= bit(to.base + vc_of(o));
  } else {
    CycleInputs& sink = post(index, now + 2);
    sink.ejected = flit + 1;
    sink.ejected_vc = static_cast<std::uint16_t>(vc_of(o));
  }
  if (i >> bits_ < host_)
    post(from.peer, now + from.latency).credits |= bit(from.base + vc_of(i));
  else
    post(index, now + 1).injections |= static_cast<std::uint16_t>(1u << vc_of(i));
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
void LightTraffic::eject(Node& node, unsigned index, Tick now, const CycleInputs& arrivals) {
  const FlitHandle flit = arrivals.ejected - 1;
  const Packet& packet = packets_[packet_of(flit)];
  FlitHandle& expected = node.expected[arrivals.ejected_vc];
  if (expected == kHead ? number_of(flit) != 0 || packet.destination != node.self : flit != expected)
    ++node.received.wrong;
  node.received.flits += window_.holds(now);
  post(index, now + 1).credits |= bit(host_ << bits_ | arrivals.ejected_vc);
  expected = flit + 1;
  if (number_of(flit) + 1 != flits_) return;
  expected = kHead;
  node.received.packet(packet.identity, mix(packet.identity), packet.created, now, window_);
  spare_.push_back(packet_of(flit));
}

/// The source sends a flit if it has one and a credit. True if it has another, or a packet is due.
bool LightTraffic::inject(Node& node, unsigned index, Tick now) {
  Injection& injection = node.injection;
  PacketSource& source = sources_[index];
  if (!injection.sending) {
    if (source.due() > now) return false;
    const std::uint32_t ready = injection.ready & source.channels();
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
  const unsigned channel = host_ << bits_ | vc;
  queues_[node.input[channel].queue + (injection.end[vc]++ & entries_)] = injection.next;
  post(index, now + 1).flits |= bit(channel);
  if (!--injection.credits[vc]) injection.ready &= ~(1u << vc);
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
                      .output = input.port,
                      .output_vc = node.active & bit(i) ? static_cast<int>(vc_of(input.output)) : -1});
  }
  return result;
}

}  // namespace

bool has_light_traffic(const NetworkConfig& fabric) {
  const RouterConfig& router = fabric.router;
  const auto bits = std::bit_width(router.virtual_channels - 1);
  const std::size_t channels = std::size_t{router.link_ports + router.local_ports} << bits;
  const unsigned depth = std::max(router.buffer_flits, router.local_buffer_flits);
  if (channels > kChannels || router.buffer_flits == 0 || router.local_buffer_flits == 0 || depth > 1024 ||
      fabric.nodes * channels * std::bit_ceil(depth) > UINT32_MAX)
    return false;
  for (std::size_t pair = 0; pair < fabric.routes.size(); ++pair)
    if (pair / fabric.nodes != pair % fabric.nodes && fabric.routes[pair].port == kNoRoute) return false;
  return router.flow == FlowControl::credits && !router.library && !router.share.narrow() && router.share.frame == 0 &&
         std::ranges::all_of(fabric.links, [](const LinkConfig& link) {
           return !link.faulty() && link.rate_flits == link.rate_cycles;
         });
}

std::unique_ptr<TrafficModel> make_light_traffic(const TrafficModelConfig& config) {
  return std::make_unique<LightTraffic>(config);
}

}  // namespace thalweg
