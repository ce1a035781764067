// SPDX-License-Identifier: Apache-2.0
#include "network/traffic.hpp"

#include <algorithm>
#include <bit>
#include <ctime>

#include "core/require.hpp"
#include "network/network.hpp"
#include "network/traffic_model.hpp"
#include "thalweg_spec.hpp"

namespace thalweg {

namespace {

/// Of networks with more nodes than the other header can name.
constexpr HeaderFields kWide{.destination_lsb = spec::plain_header::destination_lsb,
                             .destination_bits = std::popcount(spec::plain_header::destination_mask)};

double thread_cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

class Run {
 public:
  Run(const NetworkConfig& fabric, const TrafficConfig& traffic, const Progress& progress,
      std::span<const NodeId> order, bool light)
      : fabric_(fabric),
        traffic_(traffic),
        progress_(progress),
        destinations_(traffic, fabric.nodes),
        window_{traffic.warmup, traffic.warmup + traffic.cycles} {
    const TrafficModelConfig config{fabric, traffic, destinations_, window_, order};
    model_ = light ? make_light_traffic(config) : make_router_traffic(config);
  }

  TrafficResult run() {
    TrafficResult result;
    const bool warm = advance(window_.begin);
    const auto hops_before = link_flits();
    const double cpu_before = cpu_s_;
    const bool measured = warm && advance(window_.end);
    result.cpu_s = cpu_s_ - cpu_before;
    result.flit_hops = link_flits() - hops_before;
    result.cycles = std::max<Tick>(0, model_->now() - window_.begin);
    result.router_cycles = fabric_.nodes * static_cast<std::uint64_t>(result.cycles);
    if (measured) finish_measured();
    drain();
    collect(result);
    return result;
  }

 private:
  /// Runs to `until`. False if the network is stuck or the caller stops the run.
  bool advance(Tick until) {
    while (model_->now() < until && !over_) {
      const double cpu_before = thread_cpu_seconds();
      model_->advance(std::min(until, model_->now() + kChunk));
      cpu_s_ += thread_cpu_seconds() - cpu_before;
      watch();
      if (progress_ && !progress_(std::min(model_->now(), window_.end), window_.end)) over_ = true;
    }
    return !over_;
  }

  /// Runs the sources until every packet of the window is ejected, for at most the length of the window.
  void finish_measured() {
    const auto open = [&] {
      std::uint64_t created = 0, ejected = 0;
      bool lagging = false;
      for (NodeId node = 0; node < fabric_.nodes; ++node) {
        created += model_->source(node).measured;
        ejected += model_->received(node).measured;
        lagging |= model_->source(node).due() < window_.end;
      }
      return lagging || created != ejected;
    };
    const Tick limit = window_.end + std::max<Tick>(traffic_.cycles, 10 * kChunk);
    while (open() && model_->now() < limit)
      if (!advance(std::min(limit, model_->now() + kChunk))) return;
    complete_ = !open();
  }

  /// Stops new packets, and runs until those in flight have arrived or the network is stuck.
  void drain() {
    for (NodeId node = 0; node < fabric_.nodes; ++node) model_->source(node).stop();
    while (stuck_.empty() && inside() > 0) {
      model_->advance(model_->now() + kChunk);
      watch();
    }
  }

  void collect(TrafficResult& result) const {
    std::uint64_t sent = 0, received = 0, sum = 0, wrong = 0, flits = 0;
    Tick latency = 0;
    for (NodeId node = 0; node < fabric_.nodes; ++node) {
      const PacketSource& source = model_->source(node);
      const Received& sink = model_->received(node);
      sent += source.packets;
      received += sink.packets;
      sum += source.sum - sink.sum;
      wrong += sink.wrong;
      flits += sink.flits;
      result.packets += sink.measured;
      latency += sink.latency_sum;
      result.max_latency_cycles = std::max(result.max_latency_cycles, sink.latency_max);
      result.digest = mix(result.digest ^ sink.digest);
      for (unsigned port = 0; port <= fabric_.router.link_ports; ++port)
        result.digest = mix(result.digest ^ model_->flits_sent(node, port));
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
    for (NodeId node = 0; node < fabric_.nodes; ++node)
      for (unsigned port = 0; port < fabric_.router.link_ports; ++port) flits += model_->flits_sent(node, port);
    return flits;
  }

  /// Packets in flight.
  [[nodiscard]] std::uint64_t inside() const {
    std::uint64_t packets = 0;
    for (NodeId node = 0; node < fabric_.nodes; ++node)
      packets += model_->source(node).packets - model_->received(node).packets;
    return packets;
  }

  /// Records the time of the last movement, and describes a stuck network.
  void watch() {
    std::uint64_t moved = link_flits();
    for (NodeId node = 0; node < fabric_.nodes; ++node) moved += model_->flits_sent(node, fabric_.router.link_ports);
    if (moved != moved_ || inside() == 0) {
      moved_ = moved;
      moved_at_ = model_->now();
    } else if (model_->now() - moved_at_ >= traffic_.stuck_cycles) {
      over_ = true;
      describe_stuck();
    }
  }

  void describe_stuck() {
    stuck_ = model_->failures();
    for (NodeId node = 0; node < fabric_.nodes; ++node)
      if (const auto flits = model_->flits_unrouted(node))
        stuck_.push_back("node " + std::to_string(node) + " dropped " + std::to_string(flits) +
                         " flits of packets without a route");
    for (NodeId node = 0; node < fabric_.nodes; ++node)
      for (const auto& blocked : model_->blocked(node)) {
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
  std::unique_ptr<TrafficModel> model_;
  std::uint64_t moved_ = 0;
  Tick moved_at_ = 0;
  double cpu_s_ = 0;
  bool over_ = false;
  bool complete_ = false;
  std::vector<std::string> stuck_;
};

/// The name of the first value in which two results differ, except for the CPU time; empty: none.
std::string first_difference(const TrafficResult& a, const TrafficResult& b) {
  if (a.flit_hops != b.flit_hops) return "flit_hops";
  if (a.packets != b.packets) return "packets";
  if (a.average_latency_cycles != b.average_latency_cycles) return "average_latency_cycles";
  if (a.max_latency_cycles != b.max_latency_cycles) return "max_latency_cycles";
  if (a.accepted_load != b.accepted_load) return "accepted_load";
  if (a.cycles != b.cycles) return "cycles";
  if (a.complete != b.complete) return "complete";
  if (a.verified != b.verified) return "verified";
  if (a.stuck != b.stuck) return "stuck";
  if (a.digest != b.digest) return "digest";
  return "";
}

}  // namespace

TrafficResult run_traffic(const NetworkConfig& fabric, const TrafficConfig& traffic, const Progress& progress,
                          std::span<const NodeId> order) {
  if (fabric.nodes > fabric.router.header.most_nodes() &&
      fabric.router.header.destination_bits < kWide.destination_bits) {
    NetworkConfig wide = fabric;
    wide.router.header = kWide;
    return run_traffic(wide, traffic, progress, order);
  }
  check_network(fabric);
  require(std::has_single_bit(traffic.packet_flits) && traffic.packet_flits <= 16, "packet_flits is 1, 2, 4, 8 or 16");
  require(traffic.load >= 0 && traffic.load <= traffic.packet_flits, "load is from 0 to packet_flits");
  require(traffic.warmup >= 0 && traffic.cycles >= 1, "warmup is at least 0 cycles, cycles at least 1");
  require(traffic.stuck_cycles >= 1, "stuck_cycles is at least 1");
  const bool light = has_light_traffic(fabric);
  switch (traffic.routers) {
    case TrafficRouters::automatic:
      return Run(fabric, traffic, progress, order, light).run();
    case TrafficRouters::full:
      return Run(fabric, traffic, progress, order, false).run();
    case TrafficRouters::both:
      break;
  }
  require(light, "the network has only one model of its routers: there is nothing to compare");
  TrafficResult result = Run(fabric, traffic, {}, order, true).run();
  if (const auto difference = first_difference(Run(fabric, traffic, {}, order, false).run(), result);
      !difference.empty())
    throw std::logic_error("the two models of the network differ: " + difference);
  return result;
}

}  // namespace thalweg
