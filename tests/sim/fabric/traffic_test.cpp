// Whole networks under random traffic: is every flit delivered once and in order, and does the order of steps not matter?
#include "fabric/traffic.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "fabric/torus.hpp"

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

}  // namespace
}  // namespace thalweg
