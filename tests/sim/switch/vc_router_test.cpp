// SPDX-License-Identifier: Apache-2.0
// Does the router behave as in docs/router.md in each cycle? The expected cycles are that page's closed forms.
#include "switch/vc_router.hpp"

#include <gtest/gtest.h>

#include <map>

#include "switch/rig.hpp"

namespace thalweg {
namespace {

using test::Rig;
using test::row_of;

class Distance : public testing::TestWithParam<std::tuple<unsigned, Tick>> {};

// A flit sent in cycle 0 is on the first router's wires in 1; each router takes 4 cycles, each link its latency, and
// the last link is the one-cycle wire to the receiver.
TEST_P(Distance, ZeroLoadLatencyIsFourCyclesARouterAndTheLinks) {
  const auto [links, latency] = GetParam();
  Rig rig(row_of(links + 1, latency));
  rig.send(0, links, 8, 2);
  rig.run(2000);
  const auto& got = rig.delivered(links);
  ASSERT_EQ(got.size(), 8u);
  const Tick head = 1 + 4 * (links + 1) + latency * links + 1;
  for (unsigned i = 0; i < 8; ++i) {
    EXPECT_EQ(got[i].at, head + i);
    EXPECT_EQ(got[i].flit.data[2], i);
    EXPECT_EQ(got[i].flit.head, i == 0);
    EXPECT_EQ(got[i].flit.tail, i == 7);
  }
}

INSTANTIATE_TEST_SUITE_P(VcRouter, Distance,
                         testing::Combine(testing::Values(0u, 1u, 2u, 5u),
                                          testing::Values(Tick{1}, Tick{2}, Tick{110})));

class RoundTrip : public testing::TestWithParam<std::tuple<unsigned, Tick>> {};

// One long packet on one channel: in the long run min(1, depth / (2 L + 3)) flits per cycle cross a link of L cycles,
// since a credit can be used again 2 L + 3 cycles after it was taken. (Packets of one flit each would need a new route
// each.)
TEST_P(RoundTrip, CreditsLimitTheRate) {
  const auto [depth, latency] = GetParam();
  auto config = row_of(2, latency);
  config.router.buffer_flits = depth;
  Rig rig(config);
  constexpr unsigned kFlits = 4000;
  rig.send(0, 1, kFlits, 0);
  rig.run(400'000);
  const auto& got = rig.delivered(1);
  ASSERT_EQ(got.size(), kFlits);
  const Tick trip = 2 * latency + 3;
  const Tick turns = (kFlits - 1) / depth;  // whole turns of the credits before the last flit
  const Tick expected = trip > depth ? turns * trip + (kFlits - 1) % depth : kFlits - 1;
  EXPECT_EQ(got.back().at - got.front().at, expected);
}

INSTANTIATE_TEST_SUITE_P(VcRouter, RoundTrip,
                         testing::Combine(testing::Values(1u, 3u, 5u, 8u, 16u), testing::Values(Tick{1}, Tick{4})));

TEST(VcRouter, TwoPortsShareAnOutputFairly) {
  auto config = row_of(3);
  config.routes[1 * 3 + 2] = {.port = 0};
  Rig rig(config);
  for (unsigned i = 0; i < 100; ++i) {
    rig.send(0, 2, 4, i % 4, 0, 0);
    rig.send(1, 2, 4, i % 4, 0, 1);
  }
  rig.run(5000);
  const auto& got = rig.delivered(2);
  ASSERT_EQ(got.size(), 800u);
  // While both have something to send, neither is more than a round of packets (4 channels of 4 flits) ahead.
  int ahead = 0;
  for (std::size_t i = 0; i < 700; ++i) {
    ahead += got[i].flit.data[1] ? 1 : -1;
    EXPECT_LE(std::abs(ahead), 16) << "after " << i << " flits";
  }
  // The link to node 2 is hardly ever idle in between.
  EXPECT_LE(got[699].at - got[20].at, 679 + 679 / 50);
}

TEST(VcRouter, PacketsOfOneChannelStayInOrderAndWhole) {
  auto config = row_of(4);
  config.router.vc_mask = {{0b0001}};
  config.router.virtual_channels = 1;
  Rig rig(config);
  for (unsigned i = 0; i < 200; ++i)
    for (NodeId node = 0; node < 3; ++node) rig.send(node, 3, 1 + i % 5, 0, 0, node << 16 | i);
  rig.run(20'000);
  std::map<std::uint64_t, std::uint64_t> next_packet;
  std::uint64_t open = 0, next_flit = 0;
  for (const auto& [at, flit, link] : rig.delivered(3)) {
    if (flit.head) {
      open = flit.data[1];
      next_flit = 0;
      EXPECT_EQ(open & 0xffff, next_packet[open >> 16]++);
    }
    EXPECT_EQ(flit.data[1], open);
    EXPECT_EQ(flit.data[2], next_flit++);
  }
  EXPECT_EQ(rig.delivered(3).size(), 3u * 40 * (1 + 2 + 3 + 4 + 5));
}

// A receiver that takes nothing: all buffers before it fill up, and not one flit more is accepted from the sender.
TEST(VcRouter, CreditsFillEveryBufferAndNoMore) {
  auto config = row_of(2);
  config.router.local_buffer_flits = 6;
  Rig rig(config);
  rig.refuse(1);
  rig.send(0, 1, 100, 3);
  rig.run(1000);
  EXPECT_EQ(rig.delivered(1).size(), 6u);
  EXPECT_EQ(rig.sent(0).size(), 6u + 8u + 6u);  // receiver, input buffer of node 1, host input buffer of node 0
}

class Margin : public testing::TestWithParam<Tick> {};

// The stop bit is set when the free space equals the margin, and 2 L + 1 flits still arrive: with the smallest margin
// the buffer is filled completely, and with one less it would overflow (on which the buffer throws, and which
// check_network refuses).
TEST_P(Margin, LeastMarginFillsTheBufferExactly) {
  const Tick latency = GetParam();
  auto config = row_of(2, latency);
  config.router.flow = FlowControl::margin;
  config.router.margin_flits = static_cast<unsigned>(2 * latency + 1);
  config.router.buffer_flits = config.router.margin_flits + 5;
  config.router.local_buffer_flits = 8;
  Rig rig(config);
  rig.refuse(1);
  rig.send(0, 1, 1000, 0);
  EXPECT_NO_THROW(rig.run(5000));
  EXPECT_EQ(rig.delivered(1).size(), 8u);
  EXPECT_EQ(rig.router(0).flits_sent(0), 8u + config.router.buffer_flits);

  --config.router.margin_flits;
  EXPECT_THROW(check_network(config), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(VcRouter, Margin, testing::Values(1, 2, 7, 110));

// With a margin of 2 L + 1 and the same space again below it, the stop bit costs no throughput: one flit per cycle.
TEST(VcRouter, MarginKeepsTheFullRate) {
  auto config = row_of(3, 5);
  config.router.flow = FlowControl::margin;
  config.router.margin_flits = 11;
  config.router.buffer_flits = 24;
  Rig rig(config);
  rig.send(0, 2, 500, 1);
  rig.run(5000);
  const auto& got = rig.delivered(2);
  ASSERT_EQ(got.size(), 500u);
  EXPECT_EQ(got.back().at - got.front().at, 499);
}

TEST(VcRouter, LinkRateIsKeptInEveryWindow) {
  auto config = row_of(2);
  config.router.buffer_flits = 32;
  config.links[0].rate_flits = 2;
  config.links[0].rate_cycles = 5;
  Rig rig(config);
  rig.send(0, 1, 400, 0);
  rig.run(5000);
  const auto& got = rig.delivered(1);
  ASSERT_EQ(got.size(), 400u);
  // The head waits for its route in the second router, where the next flit catches up with it.
  for (std::size_t i = 4; i < got.size(); ++i) EXPECT_GE(got[i].at - got[i - 2].at, 5);
  EXPECT_EQ(got.back().at - got[3].at, 198 * 5);
}

constexpr std::uint64_t kCollective =
    mpi_fpga::spec::network_header::with_collective(0, mpi_fpga::spec::Collective::reduce);

class Ejection : public testing::TestWithParam<Tick> {};

// As above, a router takes 4 cycles; the last one takes one, from the link's wires to the unit's.
TEST_P(Ejection, CollectivePacketsLeaveAtTheLink) {
  auto config = row_of(3, GetParam());
  config.router.local_ports = 2;
  Rig rig(config);
  rig.send(0, 2, 3, 1, 0, 0, kCollective);
  rig.send(2, 1, 1, 0, 0, 0, kCollective);
  rig.send(0, 2, 1, 2, 1000);
  rig.run(2000);
  ASSERT_EQ(rig.ejected(2).size(), 3u);
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(rig.ejected(2)[i].at, 1 + 2 * (4 + GetParam()) + 1 + i);
    EXPECT_EQ(rig.ejected(2)[i].flit.data[2], i);
    EXPECT_EQ(rig.ejected(2)[i].link, 1u);
  }
  ASSERT_EQ(rig.ejected(1).size(), 1u);
  EXPECT_EQ(rig.ejected(1)[0].link, 0u);
  EXPECT_EQ(rig.delivered(2).size(), 1u) << "what is no collective's goes to the host";
}

INSTANTIATE_TEST_SUITE_P(VcRouter, Ejection, testing::Values(1, 9));

class PastFullBuffers : public testing::TestWithParam<FlowControl> {};

// The host takes nothing, and the link's only channel has a full buffer behind it: ejected flits need no room there.
TEST_P(PastFullBuffers, CollectivePacketsNeedNoRoom) {
  auto config = row_of(2);
  config.router.local_ports = 2;
  config.router.virtual_channels = 2;
  config.router.vc_mask = {{0b01}, {0b01}};
  config.router.flow = GetParam();
  config.router.margin_flits = 3;
  config.router.buffer_flits = 8;
  config.router.local_buffer_flits = 8;
  Rig rig(config);
  rig.refuse(1);
  for (unsigned packet = 0; packet < 4; ++packet) rig.send(0, 1, 4, 0);
  rig.send(0, 1, 20, 1, 200, 0, kCollective);
  rig.run(500);
  ASSERT_EQ(rig.ejected(1).size(), 20u);
  EXPECT_EQ(rig.ejected(1).back().at - rig.ejected(1).front().at, 19);
}

INSTANTIATE_TEST_SUITE_P(VcRouter, PastFullBuffers, testing::Values(FlowControl::credits, FlowControl::margin));

class WithoutRoute : public testing::TestWithParam<FlowControl> {};

// Packets without a route are dropped, head to tail, and counted; later packets proceed, and no credit is lost: many
// times the buffers' capacity passes.
TEST_P(WithoutRoute, PacketsAreDroppedAndCounted) {
  auto config = row_of(3);
  config.router.flow = GetParam();
  config.router.margin_flits = 3;
  config.router.buffer_flits = 8;
  config.router.local_buffer_flits = 8;
  config.routes[1 * 3 + 2].port = kNoRoute;  // node 0 sends packets for 2 to node 1, which has no route to it
  Rig rig(config);
  for (unsigned i = 0; i < 50; ++i) {
    rig.send(0, 2, 1 + i % 20, i % 4);
    rig.send(0, 1, 3, i % 4);
  }
  rig.run(5000);
  EXPECT_TRUE(rig.delivered(2).empty());
  EXPECT_EQ(rig.delivered(1).size(), 50u * 3);
  EXPECT_EQ(rig.router(1).flits_unrouted(), 2u * 210 + 55);
  EXPECT_EQ(rig.router(0).flits_unrouted(), 0u);
  EXPECT_TRUE(rig.router(0).empty() && rig.router(1).empty());
}

INSTANTIATE_TEST_SUITE_P(VcRouter, WithoutRoute, testing::Values(FlowControl::credits, FlowControl::margin));

}  // namespace
}  // namespace thalweg
