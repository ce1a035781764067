// SPDX-License-Identifier: Apache-2.0
// Links with faults between routers: their cost without a fault, and that no fault loses a flit.
#include "link/faulty_link.hpp"

#include <gtest/gtest.h>

#include "../switch/rig.hpp"
#include "network/torus.hpp"
#include "network/traffic.hpp"

namespace thalweg::test {
namespace {

constexpr Tick kFar = 1'000'000'000;  // a fault that never happens: the link has its replay, without any fault

void everywhere(NetworkConfig& config, const WireFaults& faults) {
  for (LinkConfig& link : config.links) link.from_a = link.from_b = faults;
}

NetworkConfig with_margin(NetworkConfig config, unsigned margin) {
  config.router.flow = FlowControl::margin;
  config.router.margin_flits = margin;
  config.router.buffer_flits = margin + 32;
  config.router.local_buffer_flits = 16;
  return config;
}

// docs/links.md: from the wires of one port to those of the other a flit takes L + 5 cycles instead of L - 1.
TEST(FaultyLink, TakesSixCyclesMore) {
  for (const Tick latency : {1, 2, 7, 110})
    for (const bool margin : {false, true}) {
      NetworkConfig plain = row_of(3, latency);
      if (margin) plain = with_margin(plain, replay_window(latency) - 1);
      plain.router.buffer_flits = 600;
      NetworkConfig replayed = plain;
      everywhere(replayed, {.down_at = kFar});
      Rig a(plain), b(replayed);
      for (Rig* rig : {&a, &b}) {
        rig->send(0, 2, 20, 1, 1000);
        rig->send(0, 1, 3, 2, 1000);
        rig->send(2, 0, 5, 0, 1200);
        rig->run(5000);
      }
      for (const auto& [node, hops, flits] : {std::tuple{2u, 2, 20u}, {1u, 1, 3u}, {0u, 2, 5u}}) {
        ASSERT_EQ(a.delivered(node).size(), flits);
        ASSERT_EQ(b.delivered(node).size(), flits);
        for (std::size_t i = 0; i < flits; ++i) {
          EXPECT_EQ(b.delivered(node)[i].at, a.delivered(node)[i].at + 6 * hops) << latency << ' ' << node << ' ' << i;
          EXPECT_EQ(b.delivered(node)[i].flit.data, a.delivered(node)[i].flit.data);
        }
      }
      EXPECT_TRUE(b.links()[0].link->use_from_a().frames > 0);
    }
}

// A link without news is not stepped, and time passes in one jump.
TEST(FaultyLink, RestsWhenAllIsSaid) {
  for (const bool margin : {false, true}) {
    NetworkConfig config = row_of(2, 5);
    if (margin) config = with_margin(config, replay_window(5) - 1);
    everywhere(config, {.bit_error_rate = 1e-4});
    Rig rig(config);
    rig.run(2000);
    EXPECT_TRUE(rig.at_rest());
    rig.send(0, 1, 9, 3, 1'000'000);
    rig.run(1'000'500);
    EXPECT_EQ(rig.delivered(1).size(), 9u);
    rig.run(1'002'000);
    EXPECT_TRUE(rig.at_rest());
    EXPECT_LT(rig.links()[0].link->use_from_a().frames, 5000u);
  }
}

WireUse whole(const NetworkConfig& config) {
  Rig rig(config);
  for (unsigned i = 0; i < 200; ++i) rig.send(0, 1, 16, i % 4, 0, i);
  rig.run(200'000);
  std::array<std::vector<std::uint64_t>, 4> tags;
  EXPECT_EQ(rig.delivered(1).size(), 200u * 16);
  for (const Delivered& d : rig.delivered(1))
    if (d.flit.head) tags[d.flit.data[1] % 4].push_back(d.flit.data[1]);
  for (unsigned vc = 0; vc < 4; ++vc)
    for (std::size_t i = 0; i < tags[vc].size(); ++i) EXPECT_EQ(tags[vc][i], 4 * i + vc);
  EXPECT_TRUE(rig.at_rest());
  const auto &a = rig.links()[0].link->use_from_a(), &b = rig.links()[0].link->use_from_b();
  return {a.frames + b.frames, a.damaged + b.damaged, a.lost + b.lost, a.duplicated + b.duplicated};
}

// Each kind of fault happens at its configured rate, and nothing is lost.
TEST(FaultyLink, LosesNothing) {
  NetworkConfig config = row_of(2, 3);
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    config.faults.seed = seed;
    const double bits = faulty_link(config, 0).frame().frame_bits();
    everywhere(config, {.bit_error_rate = 1e-4});
    WireUse use = whole(config);
    EXPECT_NEAR(static_cast<double>(use.damaged) / static_cast<double>(use.frames), 1e-4 * bits, 0.01);
    EXPECT_EQ(use.lost + use.duplicated, 0u);
    everywhere(config, {.frames_lost = 0.05});
    use = whole(config);
    EXPECT_NEAR(static_cast<double>(use.lost) / static_cast<double>(use.frames), 0.05, 0.02);
    EXPECT_EQ(use.damaged + use.duplicated, 0u);
    everywhere(config, {.frames_duplicated = 0.05});
    use = whole(config);
    EXPECT_NEAR(static_cast<double>(use.duplicated) / static_cast<double>(use.frames), 0.05, 0.02);
    EXPECT_EQ(use.damaged, 0u);
    // Credits and acknowledgements alone.
    config.links[0].from_a = {};
    config.links[0].from_b = {.frames_lost = 0.3};
    use = whole(config);
    EXPECT_GT(use.lost, 100u);
  }
}

TEST(FaultyLink, IsTheSameInEveryRun) {
  NetworkConfig config = row_of(2, 3);
  everywhere(config, {.bit_error_rate = 1e-4, .frames_lost = 0.01, .frames_duplicated = 0.01});
  const auto last = [&](std::uint64_t seed) {
    config.faults.seed = seed;
    Rig rig(config);
    for (unsigned i = 0; i < 50; ++i) rig.send(0, 1, 16, 0);
    rig.run(50'000);
    EXPECT_EQ(rig.delivered(1).size(), 800u);
    return rig.delivered(1).back().at;
  };
  EXPECT_EQ(last(1), last(1));
  EXPECT_NE(last(1), last(2));
}

// While the wire is cut, nothing passes, in one direction or in both; once it is restored, traffic continues where it
// stopped.
TEST(FaultyLink, GoesOnWhenItIsBack) {
  for (const int direction : {0, 1, 2}) {
    NetworkConfig config = row_of(2, 10);
    const WireFaults cut{.down_at = 500, .up_at = 20'500};
    if (direction != 1) config.links[0].from_a = cut;
    if (direction != 0) config.links[0].from_b = cut;
    Rig rig(config);
    for (unsigned i = 0; i < 100; ++i) rig.send(0, 1, 16, i % 4);
    rig.run(20'500);
    const auto before = rig.delivered(1).size();
    EXPECT_GT(before, 200u);
    EXPECT_LT(before, 1000u);
    rig.run(40'000);
    EXPECT_EQ(rig.delivered(1).size(), 1600u);
    EXPECT_EQ(rig.links()[0].link->silent_since(), kNever);
  }
}

TEST(FaultyLink, IsGivenUpAfterSilence) {
  NetworkConfig config = row_of(2, 10);
  config.faults.silence = 3000;
  config.links[0].from_b = {.down_at = 500, .up_at = 4000};
  Rig rig(config);
  for (unsigned i = 0; i < 100; ++i) rig.send(0, 1, 16, i % 4);
  for (int i = 0; i < 10; ++i) rig.run(20'000);
  // The last frame before the cut reaches the replay two cycles later.
  EXPECT_NEAR(static_cast<double>(rig.links()[0].link->silent_since()), 501, 1);
  EXPECT_LT(rig.delivered(1).size(), 1600u);
}

// One end is reset alone under traffic: the link stops as soon as either end knows, and everything received until then
// is correct.
TEST(FaultyLink, NoticesAReset) {
  for (const unsigned end : {0u, 1u})
    for (const bool margin : {false, true}) {
      NetworkConfig config = row_of(2, 10);
      if (margin) config = with_margin(config, replay_window(10) - 1);
      (end == 0 ? config.links[0].from_a : config.links[0].from_b).reset_at = 500;
      Rig rig(config);
      for (unsigned i = 0; i < 100; ++i) rig.send(0, 1, 16, i % 4);
      for (int i = 0; i < 10; ++i) rig.run(20'000);
      const auto& lost = rig.links()[0].link->lost_by();
      ASSERT_TRUE(lost);
      EXPECT_EQ(lost->end, end);
      EXPECT_EQ(lost->at, 500);
      EXPECT_GT(rig.delivered(1).size(), 100u);
      EXPECT_LT(rig.delivered(1).size(), 520u);
      EXPECT_EQ(describe_failure(rig.links()[0], config.ticks_per_second),
                "the link between port 0 of node 0 and port 1 of node 1 has lost flits, as its end at node " +
                    std::to_string(end) + " was reset alone at 2.000 us");
    }
}

// Both ends are reset at nearly the same time, before either knows of the other's reset.
TEST(FaultyLink, NoticesResetsOfBothEnds) {
  for (const Tick later : {0, 1, 9, 30}) {
    NetworkConfig config = row_of(2, 10);
    config.links[0].from_a.reset_at = 500;
    config.links[0].from_b.reset_at = 500 + later;
    Rig rig(config);
    for (unsigned i = 0; i < 100; ++i) rig.send(0, 1, 16, i % 4);
    for (int i = 0; i < 10; ++i) rig.run(20'000);
    EXPECT_TRUE(rig.links()[0].link->lost_by());
  }
}

// Traffic on a torus with faults on all links, slow ones included: every flit arrives once, in order, with its payload.
TEST(FaultyLink, CarriesTraffic) {
  for (const bool margin : {false, true})
    for (const unsigned cycles : {1u, 3u}) {
      NetworkConfig config = torus({3, 3});
      for (LinkConfig& link : config.links) link.rate_cycles = cycles;
      if (margin) config = with_margin(config, replay_window(1) - 1);
      everywhere(config, {.bit_error_rate = 1e-5, .frames_lost = 0.01, .frames_duplicated = 0.01});
      const TrafficResult result = run_traffic(config, {.load = 0.1, .warmup = 0, .cycles = 5000});
      EXPECT_TRUE(result.verified);
      EXPECT_TRUE(result.complete);
      EXPECT_GT(result.packets, 500u);
    }
}

TEST(FaultyLink, IsChecked) {
  const auto says = [](const NetworkConfig& config) -> std::string {
    try {
      check_network(config);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  NetworkConfig config = with_margin(row_of(2, 5), 20);
  EXPECT_EQ(says(config), "");
  config.links[0].from_a.frames_lost = 0.1;
  EXPECT_NE(says(config).find("needs a margin of at least 31 flits"), std::string::npos);
  config = row_of(2, 5);
  config.links[0].from_a.frames_lost = 1;
  EXPECT_NE(says(config).find("the link between port 0 of node 0 and port 1 of node 1"), std::string::npos);
  config.links[0].from_a = {.down_at = 10, .up_at = 5};
  EXPECT_NE(says(config).find("comes up before it goes down"), std::string::npos);
}

}  // namespace
}  // namespace thalweg::test
