// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <deque>

#include "core/scheduler.hpp"
#include "network/network.hpp"
#include "network/traffic_model.hpp"

namespace thalweg {

namespace {

// A packet's flits are derived from its identity alone, so that a sink can verify them. The head carries header,
// identity, creation time and a checksum of these; word j of flit k is pattern + 4k + j.

std::uint64_t head_check(const Flit& flit) {
  return mix(flit.data[0] ^ mix(flit.data[1] ^ mix(static_cast<std::uint64_t>(flit.data[2]))));
}

/// Sends packets in sequence.
class Source {
 public:
  explicit Source(const TrafficModelConfig& config, NodeId self)
      : packets(config.fabric, config.traffic, self, config.destinations, config.window),
        header_(config.fabric.router.header),
        flits_(config.traffic.packet_flits) {}

  PacketSource packets;
  FlitSender sender;

  [[nodiscard]] bool sending() const { return next_ != 0; }

  void step(Tick now) {
    if (next_ == 0 && (packets.due() > now || !begin())) return;
    if (!sender.ready(packet_.vc)) return;
    Flit& flit = sender.send(now, packet_.vc);
    flit.head = next_ == 0;
    if (flit.head) {
      flit.data = {header_.header(packet_.destination), packet_.identity, static_cast<std::uint64_t>(packet_.created),
                   0};
      flit.data[3] = head_check(flit);
    } else {
      const auto base = packet_.pattern + 4 * next_;
      flit.data = {base, base + 1, base + 2, base + 3};
    }
    ++next_;
    flit.tail = next_ == flits_;
    if (flit.tail) next_ = 0;
  }

 private:
  /// Starts the due packet on a channel with room. False if none has room.
  bool begin() {
    std::uint64_t ready = 0;
    for (auto rest = packets.channels(); rest; rest &= rest - 1) {
      const auto vc = static_cast<unsigned>(std::countr_zero(rest));
      if (sender.ready(vc)) ready |= 1u << vc;
    }
    if (!ready) return false;
    packet_ = packets.begin(ready);
    return true;
  }

  HeaderFields header_;
  unsigned flits_;
  Packet packet_;  ///< being sent, if next_ > 0
  unsigned next_ = 0;
};

/// Takes one flit per cycle and checks it.
class Sink {
 public:
  explicit Sink(const TrafficModelConfig& config, NodeId self)
      : self_(self),
        header_(config.fabric.router.header),
        flits_(config.traffic.packet_flits),
        window_(&config.window) {}

  FlitReceiver receiver;
  Received received;

  void step(Tick now) {
    const Flit* flit = receiver.receive(now);
    if (!flit) return;
    receiver.release(flit->vc);
    received.flits += window_->holds(now);
    Open& packet = open_[flit->vc];
    if (packet.next == 0)
      begin(packet, *flit);
    else if (!continues(packet, *flit))
      ++received.wrong;
    ++packet.next;
    if (flit->tail != (packet.next == flits_)) ++received.wrong;
    if (!flit->tail) return;
    received.packet(packet.identity, packet.pattern, packet.created, now, *window_);
    packet.next = 0;
  }

 private:
  struct Open {
    std::uint64_t identity = 0, pattern = 0;
    Tick created = 0;
    unsigned next = 0;  ///< flits received
  };

  void begin(Open& packet, const Flit& flit) {
    if (!flit.head || header_.destination(flit.data[0]) != self_ || flit.data[3] != head_check(flit)) ++received.wrong;
    packet = {
        .identity = flit.data[1], .pattern = mix(flit.data[1]), .created = static_cast<Tick>(flit.data[2]), .next = 0};
  }

  static bool continues(const Open& packet, const Flit& flit) {
    const auto base = packet.pattern + 4 * packet.next;
    return !flit.head && ((flit.data[0] ^ base) | (flit.data[1] ^ (base + 1)) | (flit.data[2] ^ (base + 2)) |
                          (flit.data[3] ^ (base + 3))) == 0;
  }

  NodeId self_;
  HeaderFields header_;
  unsigned flits_;
  const Window* window_;
  std::array<Open, FlitReceiver::kMaxChannels> open_{};
};

/// A node: router, source and sink on its host port.
class TrafficNode final : public Component {
 public:
  TrafficNode(const TrafficModelConfig& config, const Graph& graph, NodeId self)
      : router(make_router(config.fabric, graph, self)), source(config, self), sink(config, self) {}

  VcRouter router;
  Source source;
  Sink sink;

  void wire(Scheduler& scheduler, const RouterConfig& config) {
    scheduler_ = &scheduler;
    id_ = scheduler.add(*this);
    router.bind(scheduler, id_);
    for (Inbox* inbox : {&source.sender.inbox(), &sink.receiver.inbox()}) inbox->bind(scheduler, id_);
    connect_sender(config, source.sender, router, config.link_ports);
    connect_receiver(config, router, config.link_ports, sink.receiver, config.local_buffer_flits);
    if (source.packets.due() != kNever) scheduler.wake(id_, source.packets.due());
  }

  bool step(Tick now) override {
    const bool moving = router.step(now);
    sink.step(now);
    const Tick before = source.packets.due();
    source.step(now);
    sink.receiver.update(now);
    source.sender.update(now);
    const Tick due = source.packets.due();
    if (due != before && due > now && due != kNever) scheduler_->wake(id_, due);
    return moving || source.sending() || due <= now;
  }

 private:
  Scheduler* scheduler_ = nullptr;
  ComponentId id_ = 0;
};

class RouterTraffic final : public TrafficModel {
 public:
  explicit RouterTraffic(const TrafficModelConfig& config)
      : ticks_per_second_(config.fabric.ticks_per_second), scheduler_(horizon(config.fabric)) {
    const NetworkConfig& fabric = config.fabric;
    std::vector<VcRouter*> routers;
    const Graph graph(fabric);
    for (NodeId node = 0; node < fabric.nodes; ++node)
      routers.push_back(&nodes_.emplace_back(config, graph, node).router);
    for (NodeId i = 0; i < fabric.nodes; ++i)
      nodes_[config.order.empty() ? i : config.order[i]].wire(scheduler_, fabric.router);
    links_ = connect_links(fabric, routers, scheduler_);
  }

  [[nodiscard]] Tick now() const override { return scheduler_.now(); }
  void advance(Tick until) override { scheduler_.advance(until); }
  [[nodiscard]] PacketSource& source(NodeId node) override { return nodes_[node].source.packets; }
  [[nodiscard]] const Received& received(NodeId node) const override { return nodes_[node].sink.received; }
  [[nodiscard]] std::uint64_t flits_sent(NodeId node, unsigned port) const override {
    return nodes_[node].router.flits_sent(port);
  }
  [[nodiscard]] std::uint64_t flits_unrouted(NodeId node) const override {
    return nodes_[node].router.flits_unrouted();
  }
  [[nodiscard]] std::vector<VcRouter::Blocked> blocked(NodeId node) const override {
    return nodes_[node].router.blocked();
  }
  [[nodiscard]] std::vector<std::string> failures() const override {
    std::vector<std::string> lines;
    for (const JoinedLink& link : links_)
      if (std::string line = describe_failure(link, ticks_per_second_); !line.empty()) lines.push_back(std::move(line));
    return lines;
  }

 private:
  std::int64_t ticks_per_second_;
  Scheduler scheduler_;
  std::deque<TrafficNode> nodes_;
  std::vector<JoinedLink> links_;  ///< links with faults
};

}  // namespace

std::unique_ptr<TrafficModel> make_router_traffic(const TrafficModelConfig& config) {
  return std::make_unique<RouterTraffic>(config);
}

}  // namespace thalweg
