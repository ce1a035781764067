// SPDX-License-Identifier: Apache-2.0
// Synthetic traffic on the plain network: a source and a sink at each router's host port. Measures the network and the
// simulator.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/types.hpp"
#include "network/config.hpp"

namespace thalweg {

enum class Pattern : std::uint8_t {
  uniform,         ///< any node, including the source, with equal probability
  transpose,       ///< node a*k + b sends to b*k + a; the number of nodes is k*k
  bit_complement,  ///< node i sends to nodes-1-i
  neighbour,       ///< node i sends to i+1 modulo nodes
  hotspot,         ///< with hotspot_fraction to one of hotspot_nodes, otherwise uniform
};

/// Models of the routers that simulate the traffic.
enum class TrafficRouters : std::uint8_t {
  automatic,  ///< the fastest model that has all parts of the network
  full,       ///< VcRouter
  both,       ///< runs both; throws std::logic_error if any result differs
};

struct TrafficConfig {
  Pattern pattern = Pattern::uniform;
  unsigned packet_flits = 8;  ///< 1, 2, 4, 8 or 16
  double load = 0.2;  ///< flits offered per node and cycle, at most packet_flits; a Bernoulli trial per node and cycle
  std::vector<NodeId> hotspot_nodes{0};
  double hotspot_fraction = 0.1;
  std::uint64_t seed = 1;
  Tick warmup = 10'000;        ///< cycles before anything is measured
  Tick cycles = 100'000;       ///< measured cycles
  Tick stuck_cycles = 10'000;  ///< without movement for this time while flits are in flight, the network is stuck
  TrafficRouters routers = TrafficRouters::automatic;
};

struct TrafficResult {
  std::uint64_t flit_hops = 0;        ///< flits that crossed a link between two routers in the measured cycles
  std::uint64_t router_cycles = 0;    ///< nodes times measured cycles
  Tick cycles = 0;                    ///< measured cycles
  double cpu_s = 0;                   ///< CPU time of the measured cycles alone
  std::uint64_t packets = 0;          ///< packets created in the measured cycles, and ejected
  double average_latency_cycles = 0;  ///< from creation (including the wait in the source) to ejection of the tail
  Tick max_latency_cycles = 0;
  double average_hops = 0;         ///< links crossed per flit, averaged over the measured cycles
  double offered_load = 0;         ///< flits per node and cycle
  double accepted_load = 0;        ///< ejected flits per node and cycle
  bool complete = false;           ///< every packet that was created in the measured cycles was ejected
  bool verified = false;           ///< every flit arrived once, in order, at its destination, with its payload
  std::uint64_t digest = 0;        ///< of each packet's node and time of arrival, and of all ports' counts of flits
  std::vector<std::string> stuck;  ///< waits in a deadlock; empty otherwise
};

/// Called periodically with the cycles done and the total; returning false ends the run early.
using Progress = std::function<bool(Tick done, Tick total)>;

/// Runs `traffic` on `fabric`, then drains the network. Throws std::invalid_argument with a one-line message. `order`:
/// a permutation of the nodes in which they are stepped; results don't depend on it.
[[nodiscard]] TrafficResult run_traffic(const NetworkConfig& fabric, const TrafficConfig& traffic,
                                        const Progress& progress = {}, std::span<const NodeId> order = {});

}  // namespace thalweg
