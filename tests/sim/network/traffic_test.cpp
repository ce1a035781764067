// SPDX-License-Identifier: Apache-2.0
// Whole networks under random traffic: is every flit delivered once and in order, and are results independent of the
// order of steps?
#include "network/traffic.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <numeric>
#include <random>
#include <string>

#include "../../seed.hpp"
#include "network/fat_tree.hpp"
#include "network/torus.hpp"

namespace thalweg {
namespace {

TrafficConfig short_run(double load) {
  TrafficConfig traffic;
  traffic.load = load;
  traffic.warmup = 500;
  traffic.cycles = 3000;
  return traffic;
}

TEST(Traffic, DeliversEveryFlitOnceAndInOrder) {
  const auto result = run_traffic(test::torus({4, 4}), short_run(0.3));
  EXPECT_TRUE(result.verified);
  EXPECT_TRUE(result.complete);
  EXPECT_NEAR(result.accepted_load, 0.3, 0.03);
  // Uniform traffic to 4 x 4 nodes: each dimension is 1 link away on average (0, 1, 1, 2).
  EXPECT_NEAR(result.average_hops, 2.0, 0.1);
}

TEST(Traffic, TorusIsFreeOfDeadlockAtOverload) {
  const auto result = run_traffic(test::torus({4, 4, 2}), short_run(8));
  EXPECT_TRUE(result.verified);
  EXPECT_TRUE(result.stuck.empty());
  EXPECT_LT(result.accepted_load, 1.0);
}

// One ring without its two classes: under overload, packets wait for each other in a cycle, which is reported.
TEST(Traffic, ADeadlockIsReported) {
  auto fabric = test::torus({8});
  for (auto& masks : fabric.router.vc_mask) masks = {0b0001, 0b0001};
  fabric.router.virtual_channels = 1;
  auto traffic = short_run(8);
  traffic.stuck_cycles = 1000;
  const auto result = run_traffic(fabric, traffic);
  EXPECT_FALSE(result.verified);
  ASSERT_FALSE(result.stuck.empty());
  EXPECT_NE(result.stuck[0].find("wait"), std::string::npos);
}

TEST(Traffic, EveryPatternReachesItsDestinations) {
  for (const auto pattern :
       {Pattern::uniform, Pattern::transpose, Pattern::bit_complement, Pattern::neighbour, Pattern::hotspot}) {
    auto traffic = short_run(0.1);
    traffic.pattern = pattern;
    const auto result = run_traffic(test::torus({4, 4}), traffic);
    EXPECT_TRUE(result.verified && result.complete);
    // Links on the path: bit complement changes both coordinates x to 3-x; the neighbour is up 1 in the first
    // dimension, and in every fourth node up 1 in the second one too; transpose (x, y) to (y, x) takes twice the
    // uniform ring distance.
    if (pattern == Pattern::bit_complement) {
      EXPECT_NEAR(result.average_hops, 2.0, 0.05);
    }
    if (pattern == Pattern::neighbour) {
      EXPECT_NEAR(result.average_hops, 1.25, 0.05);
    }
    if (pattern == Pattern::transpose) {
      EXPECT_NEAR(result.average_hops, 2.0, 0.15);
    }
  }
}

TEST(Traffic, ZeroLoadLatencyIsTheClosedForm) {
  auto traffic = short_run(0.004);
  traffic.pattern = Pattern::neighbour;
  traffic.cycles = 40'000;
  const auto result = run_traffic(test::torus({8}), traffic);
  // 1 to the router, 5 for each of two routers and their output wires, 7 more flits, 1 into the sink's register.
  EXPECT_NEAR(result.average_latency_cycles, 1 + 2 * 5 + 7 + 1, 0.2);
}

TEST(Traffic, RefusesWhatIsNoConfiguration) {
  const auto fabric = test::torus({4, 4});
  auto traffic = short_run(0.1);
  traffic.packet_flits = 3;
  EXPECT_THROW((void)run_traffic(fabric, traffic), std::invalid_argument);
  traffic = short_run(-1);
  EXPECT_THROW((void)run_traffic(fabric, traffic), std::invalid_argument);
  traffic = short_run(0.1);
  traffic.pattern = Pattern::transpose;
  EXPECT_THROW((void)run_traffic(test::torus({4, 2}), traffic), std::invalid_argument);
  for (const auto damage : std::initializer_list<void (*)(NetworkConfig&)>{
           [](NetworkConfig& bad) { bad.routes.pop_back(); },
           [](NetworkConfig& bad) { bad.routes[1].port = 9; },
           [](NetworkConfig& bad) { bad.routes[1].route_class = 2; },
           [](NetworkConfig& bad) { bad.links.push_back(bad.links[0]); },
           [](NetworkConfig& bad) { bad.links[0].node_a = 16; },
           [](NetworkConfig& bad) { bad.links[0].latency = 0; },
           [](NetworkConfig& bad) { bad.links[0].rate_flits = 2; },
           [](NetworkConfig& bad) { bad.router.vc_mask[0][0] = 0x10; },
           [](NetworkConfig& bad) { bad.router.virtual_channels = 17; },
           [](NetworkConfig& bad) { bad.router.buffer_flits = 0; },
           [](NetworkConfig& bad) { bad.router.local_ports = 61; },
           [](NetworkConfig& bad) { bad.router.flow = FlowControl::margin; },
       }) {
    auto bad = fabric;
    damage(bad);
    EXPECT_THROW((void)run_traffic(bad, short_run(0.1)), std::invalid_argument);
  }
}

TEST(Traffic, OrderOfStepsDoesNotMatter) {
  const auto fabric = test::torus({4, 4});
  std::vector<NodeId> order(fabric.nodes);
  std::iota(order.rbegin(), order.rend(), NodeId{0});
  const auto forward = run_traffic(fabric, short_run(0.5));
  const auto backward = run_traffic(fabric, short_run(0.5), {}, order);
  EXPECT_EQ(forward.flit_hops, backward.flit_hops);
  EXPECT_EQ(forward.packets, backward.packets);
  EXPECT_EQ(forward.average_latency_cycles, backward.average_latency_cycles);
  EXPECT_EQ(forward.max_latency_cycles, backward.max_latency_cycles);
}

/// A grid without the links between its edges, in dimension order.
NetworkConfig mesh(unsigned width, unsigned height) {
  NetworkConfig config;
  config.nodes = width * height;
  config.router.link_ports = 4;
  config.router.vc_mask = {{1}};
  for (NodeId node = 0; node < config.nodes; ++node) {
    if (node % width + 1 < width) config.links.push_back({node, node + 1, 0, 1});
    if (node + width < config.nodes) config.links.push_back({node, node + width, 2, 3});
  }
  for (NodeId node = 0; node < config.nodes; ++node)
    for (NodeId to = 0; to < config.nodes; ++to) {
      const unsigned x = node % width, y = to % width;
      config.routes.push_back({static_cast<std::uint8_t>(x != y ? x > y : 2 + (node > to)), 0});
    }
  return config;
}

/// A random network; rings of one channel may get into a deadlock, which is a result as any other.
NetworkConfig random_network(std::mt19937_64& random) {
  const auto below = [&](unsigned bound) { return static_cast<unsigned>(random() % bound); };
  NetworkConfig config;
  switch (below(4)) {
    case 0:
      config = test::torus({2 + below(9)});
      break;
    case 1:
      config = test::torus({2 + below(4), 2 + below(4)});
      break;
    case 2:
      config = mesh(1 + below(5), 2 + below(4));
      break;
    default:
      config = test::fat_tree(1 + below(4), 1 + below(4), 1 + below(3));
      break;
  }
  RouterConfig& router = config.router;
  const unsigned most = 64 / std::bit_ceil(router.link_ports + 1);
  router.virtual_channels = 1 + below(std::min(8u, most));
  const std::uint32_t all = (1u << router.virtual_channels) - 1, low = (1u << (router.virtual_channels + 1) / 2) - 1;
  const std::vector<std::uint32_t> classes{low, router.virtual_channels > 1 ? all & ~low : all};
  router.vc_mask.assign(1 + below(2), below(4) ? classes : std::vector{all, all});
  router.buffer_flits = 1 + below(32);
  router.local_buffer_flits = 1 + below(32);
  const Tick latency = 1 + below(below(2) ? 3 : 110);
  for (LinkConfig& link : config.links) link.latency = below(2) ? latency : 1 + below(8);
  return config;
}

// Do both models of the routers give the same results: all latencies, each port's flits, the node and the cycle of each
// packet's arrival, and the waits in a deadlock?
TEST(Traffic, BothModelsAgreeInEveryCycle) {
  std::mt19937_64 random(test_seed());
  std::uint64_t packets = 0;
  unsigned stuck = 0;
  for (unsigned run = 0; run < 20; ++run) {
    const NetworkConfig fabric = random_network(random);
    TrafficConfig traffic;
    traffic.pattern = std::array{Pattern::uniform, Pattern::bit_complement, Pattern::neighbour, Pattern::hotspot,
                                 Pattern::transpose}[random() % 5];
    const auto side = static_cast<unsigned>(std::lround(std::sqrt(fabric.nodes)));
    if (side * side != fabric.nodes && traffic.pattern == Pattern::transpose) traffic.pattern = Pattern::uniform;
    traffic.hotspot_nodes = {static_cast<NodeId>(random() % fabric.nodes)};
    traffic.hotspot_fraction = 0.5;
    traffic.packet_flits = 1u << random() % 5;
    traffic.load = std::array{0.0, 0.005, 0.05, 0.2, 0.5, 1.0, double(traffic.packet_flits)}[random() % 7];
    traffic.seed = random();
    traffic.warmup = static_cast<Tick>(random() % 300);
    traffic.cycles = 1 + static_cast<Tick>(random() % 1500);
    traffic.stuck_cycles = 3000;
    traffic.routers = TrafficRouters::both;
    TrafficResult result;
    ASSERT_NO_THROW(result = run_traffic(fabric, traffic)) << "in run " << run;
    EXPECT_TRUE(result.verified || !result.stuck.empty()) << "in run " << run;
    packets += result.packets;
    stuck += !result.stuck.empty();
  }
  EXPECT_GT(packets, 500u);
  EXPECT_LT(stuck, 15u);
}

TEST(Traffic, BothModelsNeedANetworkThatBothHave) {
  auto fabric = test::torus({4});
  fabric.links[0].rate_cycles = 2;
  auto traffic = short_run(0.1);
  traffic.routers = TrafficRouters::both;
  EXPECT_THROW((void)run_traffic(fabric, traffic), std::invalid_argument);
  traffic.routers = TrafficRouters::automatic;
  EXPECT_TRUE(run_traffic(fabric, traffic).verified);
}

}  // namespace
}  // namespace thalweg
