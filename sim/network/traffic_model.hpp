// SPDX-License-Identifier: Apache-2.0
// Models of a network with a source and a sink at each host port. They agree in every cycle.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "network/traffic_packets.hpp"
#include "switch/vc_router.hpp"

namespace thalweg {

class TrafficModel {
 public:
  virtual ~TrafficModel() = default;

  [[nodiscard]] virtual Tick now() const = 0;
  /// Simulates all cycles before `until`.
  virtual void advance(Tick until) = 0;
  [[nodiscard]] virtual PacketSource& source(NodeId node) = 0;
  [[nodiscard]] virtual const Received& received(NodeId node) const = 0;
  [[nodiscard]] virtual std::uint64_t flits_sent(NodeId node, unsigned port) const = 0;
  [[nodiscard]] virtual std::uint64_t flits_unrouted(NodeId node) const = 0;
  [[nodiscard]] virtual std::vector<VcRouter::Blocked> blocked(NodeId node) const = 0;
  /// A line for each link that is stopped.
  [[nodiscard]] virtual std::vector<std::string> failures() const = 0;
};

/// The arguments of a model, which outlive it. `order`: as in run_traffic.
struct TrafficModelConfig {
  const NetworkConfig& fabric;
  const TrafficConfig& traffic;
  const Destinations& destinations;
  const Window& window;
  std::span<const NodeId> order;
};

/// The reference: a VcRouter per node, flits with their payload.
[[nodiscard]] std::unique_ptr<TrafficModel> make_router_traffic(const TrafficModelConfig& config);

/// Flits without payload, and routers with no other parts than the traffic uses.
[[nodiscard]] std::unique_ptr<TrafficModel> make_light_traffic(const TrafficModelConfig& config);
/// True if make_light_traffic can simulate the network: credits; links without faults and rates, of at most 1024
/// cycles; the full share; routers of the simulator with at most 64 channels, and buffers of at most 1024 flits; a route
/// between all nodes.
[[nodiscard]] bool has_light_traffic(const NetworkConfig& fabric);

}  // namespace thalweg
