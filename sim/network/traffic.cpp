// SPDX-License-Identifier: Apache-2.0
#include "network/traffic.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <ctime>
#include <deque>

#include "common/arbiter.hpp"
#include "core/random.hpp"
#include "core/require.hpp"
#include "core/scheduler.hpp"
#include "network/network.hpp"

namespace thalweg {

namespace {

/// Measured cycles: [begin, end).
struct Window {
  Tick begin, end;
  [[nodiscard]] bool holds(Tick at) const { return at >= begin && at < end; }
};

/// Destinations of a source, by pattern.
class Destinations {
 public:
  Destinations(const TrafficConfig& traffic, unsigned nodes) : traffic_(&traffic), nodes_(nodes) {
    side_ = static_cast<unsigned>(std::lround(std::sqrt(nodes)));
    require(traffic.pattern != Pattern::transpose || side_ * side_ == nodes,
            "transpose needs a square number of nodes");
    if (traffic.pattern == Pattern::hotspot) {
      require(!traffic.hotspot_nodes.empty(), "hotspot_nodes is empty");
      require(traffic.hotspot_fraction >= 0 && traffic.hotspot_fraction <= 1, "hotspot_fraction is from 0 to 1");
      for (const auto node : traffic.hotspot_nodes) require(node < nodes, "a hotspot node does not exist");
    }
  }

  [[nodiscard]] NodeId draw(NodeId source, Random& random) const {
    switch (traffic_->pattern) {
      case Pattern::transpose:
        return source % side_ * side_ + source / side_;
      case Pattern::bit_complement:
        return nodes_ - 1 - source;
      case Pattern::neighbour:
        return source + 1 == nodes_ ? 0 : source + 1;
      case Pattern::hotspot:
        if (random.unit() <= traffic_->hotspot_fraction)
          return traffic_->hotspot_nodes[random.below(static_cast<std::uint32_t>(traffic_->hotspot_nodes.size()))];
        break;
      case Pattern::uniform:
        break;
    }
    return random.below(nodes_);
  }

 private:
  const TrafficConfig* traffic_;
  unsigned nodes_, side_;
};

/// A packet's flits are derived from its identity alone, so that a sink can verify them. The head carries header,
/// identity, creation time and a checksum of these; word j of flit k is pattern + 4k + j.
struct Packet {
  std::uint64_t identity = 0;  ///< source, and packet number at the source
  std::uint64_t pattern = 0;
  Tick created = 0;
  unsigned next = 0;  ///< flits sent or received
};

std::uint64_t head_check(const Flit& flit) {
  return mix(flit.data[0] ^ mix(flit.data[1] ^ mix(static_cast<std::uint64_t>(flit.data[2]))));
}

/// Creates packets by a Bernoulli trial per cycle, drawn as gaps, and sends them in sequence.
class Source {
 public:
  Source(const NetworkConfig& fabric, const TrafficConfig& traffic, NodeId self, const Destinations& destinations)
      : fabric_(&fabric),
        destinations_(&destinations),
        self_(self),
        flits_(traffic.packet_flits),
        probability_(traffic.load / traffic.packet_flits),
        random_(mix(traffic.seed) + self) {
    for (const auto mask : fabric.router.vc_mask[0]) all_channels_ |= mask;
    schedule(-1);
  }

  FlitSender sender;
  std::uint64_t packets = 0, sum = 0, measured = 0;

  /// Time of the next creation; kNever at load 0 or after stop().
  [[nodiscard]] Tick due() const { return due_; }
  [[nodiscard]] bool sending() const { return packet_.next != 0; }
  void stop() { due_ = kNever; }

  void step(Tick now, const Window& window) {
    if (packet_.next == 0 && (due_ > now || !begin(window))) return;
    if (!sender.ready(vc_)) return;
    Flit& flit = sender.send(now, vc_);
    flit.head = packet_.next == 0;
    if (flit.head) {
      flit.data = {header_, packet_.identity, static_cast<std::uint64_t>(packet_.created), 0};
      flit.data[3] = head_check(flit);
    } else {
      const auto base = packet_.pattern + 4 * packet_.next;
      flit.data = {base, base + 1, base + 2, base + 3};
    }
    ++packet_.next;
    flit.tail = packet_.next == flits_;
    if (flit.tail) packet_.next = 0;
  }

 private:
  void schedule(Tick last) {
    if (probability_ <= 0) {
      due_ = kNever;
      return;
    }
    const double gap = probability_ < 1 ? std::floor(std::log(random_.unit()) / std::log1p(-probability_)) : 0;
    due_ = last + 1 + static_cast<Tick>(gap);
    destination_ = destinations_->draw(self_, random_);
    channels_ = fabric_->layer.empty()
                    ? all_channels_
                    : fabric_->router.vc_mask[0][fabric_->layer[std::size_t{self_} * fabric_->nodes + destination_]];
  }

  /// Starts the due packet on the next channel with room, round-robin. False if none has room.
  bool begin(const Window& window) {
    std::uint64_t ready = 0;
    for (auto rest = channels_; rest; rest &= rest - 1) {
      const auto vc = static_cast<unsigned>(std::countr_zero(rest));
      if (sender.ready(vc)) ready |= 1u << vc;
    }
    if (!ready) return false;
    vc_ = choose_channel_.pick(ready);
    choose_channel_.accept(vc_, fabric_->router.virtual_channels);
    const auto identity = std::uint64_t{self_} << 48 | packets;
    packet_ = {.identity = identity, .pattern = mix(identity), .created = due_, .next = 0};
    header_ = fabric_->router.header.header(destination_);
    ++packets;
    sum += packet_.pattern;
    measured += window.holds(due_);
    schedule(due_);
    return true;
  }

  const NetworkConfig* fabric_;
  const Destinations* destinations_;
  NodeId self_;
  unsigned flits_;
  double probability_;
  Random random_;
  Arbiter choose_channel_;
  std::uint32_t all_channels_ = 0;
  // The next packet:
  Tick due_ = 0;
  NodeId destination_ = 0;
  std::uint32_t channels_ = 0;
  // The packet being sent, if packet_.next > 0:
  Packet packet_;
  std::uint64_t header_ = 0;
  unsigned vc_ = 0;
};

/// Takes one flit per cycle and checks it.
class Sink {
 public:
  Sink(const NetworkConfig& network, const TrafficConfig& traffic, NodeId self)
      : self_(self), header_(network.router.header), flits_(traffic.packet_flits) {}

  FlitReceiver receiver;
  std::uint64_t packets = 0, sum = 0, flits = 0, measured = 0, wrong = 0;
  Tick latency_sum = 0, latency_max = 0;

  void step(Tick now, const Window& window) {
    const Flit* flit = receiver.receive(now);
    if (!flit) return;
    receiver.release(flit->vc);
    flits += window.holds(now);
    Packet& packet = open_[flit->vc];
    if (packet.next == 0)
      begin(packet, *flit);
    else if (!continues(packet, *flit))
      ++wrong;
    ++packet.next;
    if (flit->tail != (packet.next == flits_)) ++wrong;
    if (flit->tail) finish(packet, now, window);
  }

 private:
  void begin(Packet& packet, const Flit& flit) {
    if (!flit.head || header_.destination(flit.data[0]) != self_ || flit.data[3] != head_check(flit)) ++wrong;
    packet = {
        .identity = flit.data[1], .pattern = mix(flit.data[1]), .created = static_cast<Tick>(flit.data[2]), .next = 0};
  }

  static bool continues(const Packet& packet, const Flit& flit) {
    const auto base = packet.pattern + 4 * packet.next;
    return !flit.head && ((flit.data[0] ^ base) | (flit.data[1] ^ (base + 1)) | (flit.data[2] ^ (base + 2)) |
                          (flit.data[3] ^ (base + 3))) == 0;
  }

  void finish(Packet& packet, Tick now, const Window& window) {
    ++packets;
    sum += packet.pattern;
    packet.next = 0;
    if (!window.holds(packet.created)) return;
    const Tick latency = now + 1 - packet.created;  // the tail is in the sink's register after this cycle
    ++measured;
    latency_sum += latency;
    latency_max = std::max(latency_max, latency);
  }

  NodeId self_;
  HeaderFields header_;
  unsigned flits_;
  std::array<Packet, FlitReceiver::kMaxChannels> open_{};
};

/// A node: router, source and sink on its host port.
class TrafficNode final : public Component {
 public:
  TrafficNode(const NetworkConfig& fabric, const TrafficConfig& traffic, NodeId self, const Destinations& destinations,
              const Window& window)
      : router(make_router(fabric, self)),
        source(fabric, traffic, self, destinations),
        sink(fabric, traffic, self),
        window_(&window) {}

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
    if (source.due() != kNever) scheduler.wake(id_, source.due());
  }

  bool step(Tick now) override {
    const bool moving = router.step(now);
    sink.step(now, *window_);
    const Tick due = source.due();
    source.step(now, *window_);
    sink.receiver.update(now);
    source.sender.update(now);
    if (source.due() != due && source.due() > now && source.due() != kNever) scheduler_->wake(id_, source.due());
    return moving || source.sending() || source.due() <= now;
  }

 private:
  Scheduler* scheduler_ = nullptr;
  ComponentId id_ = 0;
  const Window* window_;
};

double thread_cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

class Run {
 public:
  Run(const NetworkConfig& fabric, const TrafficConfig& traffic, const Progress& progress,
      std::span<const NodeId> order)
      : fabric_(fabric),
        traffic_(traffic),
        progress_(progress),
        destinations_(traffic, fabric.nodes),
        window_{traffic.warmup, traffic.warmup + traffic.cycles},
        scheduler_(horizon(fabric)) {
    std::vector<VcRouter*> routers;
    for (NodeId node = 0; node < fabric.nodes; ++node) {
      nodes_.emplace_back(fabric, traffic, node, destinations_, window_);
      routers.push_back(&nodes_.back().router);
    }
    for (NodeId i = 0; i < fabric.nodes; ++i) nodes_[order.empty() ? i : order[i]].wire(scheduler_, fabric.router);
    links_ = connect_links(fabric, routers, scheduler_);
  }

  TrafficResult run() {
    TrafficResult result;
    const bool warm = advance(window_.begin);
    const auto hops_before = link_flits();
    const double cpu_before = cpu_s_;
    const bool measured = warm && advance(window_.end);
    result.cpu_s = cpu_s_ - cpu_before;
    result.flit_hops = link_flits() - hops_before;
    result.cycles = std::max<Tick>(0, scheduler_.now() - window_.begin);
    result.router_cycles = fabric_.nodes * static_cast<std::uint64_t>(result.cycles);
    if (measured) finish_measured();
    drain();
    collect(result);
    return result;
  }

 private:
  /// Runs to `until`. False if the network is stuck or the caller stops the run.
  bool advance(Tick until) {
    while (scheduler_.now() < until && !over_) {
      const double cpu_before = thread_cpu_seconds();
      scheduler_.advance(std::min(until, scheduler_.now() + kChunk));
      cpu_s_ += thread_cpu_seconds() - cpu_before;
      watch();
      if (progress_ && !progress_(std::min(scheduler_.now(), window_.end), window_.end)) over_ = true;
    }
    return !over_;
  }

  /// Runs the sources until every packet of the window is ejected, for at most the length of the window.
  void finish_measured() {
    const auto open = [&] {
      std::uint64_t created = 0, ejected = 0;
      bool lagging = false;
      for (const auto& node : nodes_) {
        created += node.source.measured;
        ejected += node.sink.measured;
        lagging |= node.source.due() < window_.end;
      }
      return lagging || created != ejected;
    };
    const Tick limit = window_.end + std::max<Tick>(traffic_.cycles, 10 * kChunk);
    while (open() && scheduler_.now() < limit)
      if (!advance(std::min(limit, scheduler_.now() + kChunk))) return;
    complete_ = !open();
  }

  /// Stops new packets, and runs until those in flight have arrived or the network is stuck.
  void drain() {
    for (auto& node : nodes_) node.source.stop();
    while (stuck_.empty() && inside() > 0) {
      scheduler_.advance(scheduler_.now() + kChunk);
      watch();
    }
  }

  void collect(TrafficResult& result) const {
    std::uint64_t sent = 0, received = 0, sum = 0, wrong = 0, flits = 0;
    Tick latency = 0;
    for (const auto& node : nodes_) {
      sent += node.source.packets;
      received += node.sink.packets;
      sum += node.source.sum - node.sink.sum;
      wrong += node.sink.wrong;
      flits += node.sink.flits;
      result.packets += node.sink.measured;
      latency += node.sink.latency_sum;
      result.max_latency_cycles = std::max(result.max_latency_cycles, node.sink.latency_max);
    }
    result.complete = complete_;
    result.verified = wrong == 0 && sent == received && sum == 0 && stuck_.empty();
    result.stuck = stuck_;
    result.offered_load = traffic_.load;
    if (result.packets)
      result.average_latency_cycles = static_cast<double>(latency) / static_cast<double>(result.packets);
    if (flits) result.average_hops = static_cast<double>(result.flit_hops) / static_cast<double>(flits);
    if (result.router_cycles)
      result.accepted_load = static_cast<double>(flits) / static_cast<double>(result.router_cycles);
  }

  [[nodiscard]] std::uint64_t link_flits() const {
    std::uint64_t flits = 0;
    for (const auto& node : nodes_)
      for (unsigned port = 0; port < fabric_.router.link_ports; ++port) flits += node.router.flits_sent(port);
    return flits;
  }

  /// Packets in flight.
  [[nodiscard]] std::uint64_t inside() const {
    std::uint64_t packets = 0;
    for (const auto& node : nodes_) packets += node.source.packets - node.sink.packets;
    return packets;
  }

  /// Records the time of the last movement, and describes a stuck network.
  void watch() {
    std::uint64_t moved = link_flits();
    for (const auto& node : nodes_) moved += node.router.flits_sent(fabric_.router.link_ports);
    if (moved != moved_ || inside() == 0) {
      moved_ = moved;
      moved_at_ = scheduler_.now();
    } else if (scheduler_.now() - moved_at_ >= traffic_.stuck_cycles) {
      over_ = true;
      describe_stuck();
    }
  }

  void describe_stuck() {
    for (const JoinedLink& link : links_)
      if (const std::string failure = describe_failure(link, fabric_.ticks_per_second); !failure.empty())
        stuck_.push_back(failure);
    for (NodeId node = 0; node < fabric_.nodes; ++node)
      if (const auto flits = nodes_[node].router.flits_unrouted())
        stuck_.push_back("node " + std::to_string(node) + " dropped " + std::to_string(flits) +
                         " flits of packets without a route");
    for (NodeId node = 0; node < fabric_.nodes; ++node)
      for (const auto& blocked : nodes_[node].router.blocked()) {
        auto line = "node " + std::to_string(node) + " port " + std::to_string(blocked.port) + " vc " +
                    std::to_string(blocked.vc) + ":";
        if (blocked.head) line += " packet for node " + std::to_string(blocked.destination);
        line += " wait for port " + std::to_string(blocked.output);
        line +=
            blocked.output_vc < 0 ? ", any channel" : " vc " + std::to_string(blocked.output_vc) + ", room behind it";
        stuck_.push_back(std::move(line));
      }
  }

  static constexpr Tick kChunk = 1000;  ///< cycles between two checks of the network

  const NetworkConfig& fabric_;
  const TrafficConfig& traffic_;
  const Progress& progress_;
  Destinations destinations_;
  Window window_;
  Scheduler scheduler_;
  std::deque<TrafficNode> nodes_;
  std::vector<JoinedLink> links_;  ///< links with faults
  std::uint64_t moved_ = 0;
  Tick moved_at_ = 0;
  double cpu_s_ = 0;
  bool over_ = false;
  bool complete_ = false;
  std::vector<std::string> stuck_;
};

}  // namespace

TrafficResult run_traffic(const NetworkConfig& fabric, const TrafficConfig& traffic, const Progress& progress,
                          std::span<const NodeId> order) {
  check_network(fabric);
  require(std::has_single_bit(traffic.packet_flits) && traffic.packet_flits <= 16, "packet_flits is 1, 2, 4, 8 or 16");
  require(traffic.load >= 0 && traffic.load <= traffic.packet_flits, "load is from 0 to packet_flits");
  require(traffic.warmup >= 0 && traffic.cycles >= 1, "warmup is at least 0 cycles, cycles at least 1");
  require(traffic.stuck_cycles >= 1, "stuck_cycles is at least 1");
  return Run(fabric, traffic, progress, order).run();
}

}  // namespace thalweg
