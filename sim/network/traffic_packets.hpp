// SPDX-License-Identifier: Apache-2.0
// Packets of synthetic traffic: their creation, and the record of their arrival.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "common/arbiter.hpp"
#include "core/random.hpp"
#include "core/require.hpp"
#include "network/traffic.hpp"

namespace thalweg {

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

struct Packet {
  std::uint64_t identity = 0;  ///< source, and packet number at the source
  std::uint64_t pattern = 0;   ///< derived from the identity
  Tick created = 0;
  NodeId destination = 0;
  unsigned vc = 0;  ///< at injection
};

/// The packets of one source, created by a Bernoulli trial per cycle, drawn as gaps.
class PacketSource {
 public:
  PacketSource(const NetworkConfig& fabric, const TrafficConfig& traffic, NodeId self, const Destinations& destinations,
               const Window& window)
      : fabric_(&fabric),
        destinations_(&destinations),
        window_(&window),
        self_(self),
        probability_(traffic.load / traffic.packet_flits),
        random_(mix(traffic.seed) + self) {
    for (const auto mask : fabric.router.vc_mask[0]) all_channels_ |= mask;
    schedule(-1);
  }

  std::uint64_t packets = 0, sum = 0, measured = 0;

  /// Time of the next creation; kNever at load 0 or after stop().
  [[nodiscard]] Tick due() const { return due_; }
  void stop() { due_ = kNever; }
  /// Channels on which the next packet may start.
  [[nodiscard]] std::uint32_t channels() const { return channels_; }

  /// Starts the due packet on one of the `ready` channels, round-robin; `ready` must not be 0.
  Packet begin(std::uint64_t ready) {
    const unsigned vc = choose_channel_.pick(ready);
    choose_channel_.accept(vc, fabric_->router.virtual_channels);
    const auto identity = std::uint64_t{self_} << 44 | packets;
    const Packet packet{identity, mix(identity), due_, destination_, vc};
    ++packets;
    sum += packet.pattern;
    measured += window_->holds(due_);
    schedule(due_);
    return packet;
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
    channels_ = fabric_->layer.empty() ? all_channels_ : fabric_->channels(0, self_, destination_);
  }

  const NetworkConfig* fabric_;
  const Destinations* destinations_;
  const Window* window_;
  NodeId self_;
  double probability_;
  Random random_;
  Arbiter choose_channel_;
  std::uint32_t all_channels_ = 0;
  // The next packet:
  Tick due_ = 0;
  NodeId destination_ = 0;
  std::uint32_t channels_ = 0;
};

/// What one sink has received.
struct Received {
  std::uint64_t packets = 0, sum = 0, flits = 0, measured = 0, wrong = 0;
  std::uint64_t digest = 0;  ///< of all packets: identities and times, in order
  Tick latency_sum = 0, latency_max = 0;

  /// Records a packet whose tail is on the sink's wires in `now`.
  void packet(std::uint64_t identity, std::uint64_t pattern, Tick created, Tick now, const Window& window) {
    ++packets;
    sum += pattern;
    digest = mix(digest + static_cast<std::uint64_t>(now)) ^ identity;
    if (!window.holds(created)) return;
    const Tick latency = now + 1 - created;  // the tail is in the sink's register after this cycle
    ++measured;
    latency_sum += latency;
    latency_max = std::max(latency_max, latency);
  }
};

}  // namespace thalweg
