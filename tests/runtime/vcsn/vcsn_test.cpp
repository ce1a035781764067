// SPDX-License-Identifier: Apache-2.0
// Does a C++ program open, close and rewire circuits correctly, are wrong ones refused with one line and without any
// change, and do data arrive at their destinations?
#include "vcsn/vcsn.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include "../../../examples/vcsn/vcsn_d5005.hpp"
#include "../../seed.hpp"
#include "vcsn/collectives.hpp"

namespace thalweg::vcsn {
namespace {

const Cluster& board() {
  static const Cluster cluster("vcsn-d5005", clusters::vcsn_d5005());
  return cluster;
}

struct Board {
  Network network{board().hardware(), ""};
  Vcsn vcsn{board(), network};
};

std::string refused(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

unsigned below(std::mt19937& draw, unsigned end) {
  return static_cast<unsigned>(draw() % end);
}
std::vector<std::byte> random_bytes(std::mt19937& draw, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (auto& byte : bytes) byte = static_cast<std::byte>(draw());
  return bytes;
}

TEST(Vcsn, OpensAndClosesCircuitsAtBothEnds) {
  Board made;
  const VirtualPort one{0, 0, 1}, other{5, 0, 0};
  made.vcsn.open(one, other);
  EXPECT_EQ(made.vcsn.circuits(), (std::map<VirtualPort, VirtualPort>{{one, other}, {other, one}}));
  EXPECT_EQ(refused([&] { made.vcsn.open({7, 0, 0}, other); }),
            "virtual port 0.0 of node 5 has a circuit with virtual port 0.1 of node 0; close it first");
  made.vcsn.close(other);
  EXPECT_TRUE(made.vcsn.circuits().empty());
  EXPECT_EQ(refused([&] { made.vcsn.close(other); }), "virtual port 0.0 of node 5 has no circuit of two ends");
}

TEST(Vcsn, RefusesWrongCircuitsAndChangesNothing) {
  Board made;
  made.vcsn.rewire(Topology::of("ring", 16));
  const auto before = made.vcsn.circuits();
  for (const auto& [circuits, said] : std::vector<std::pair<std::vector<Ends>, std::string>>{
           {{{{0, 0, 0}, {1, 1, 0}}},
            "no Ethernet leads from virtual port 0.0 of node 0 to virtual port 1.0 of node 1"},
           {{{{1, 0, 0}, {0, 0, 0}}, {{2, 0, 0}, {0, 0, 0}}},
            "virtual port 0.0 of node 0 is in two circuits, with virtual port 0.0 of node 1 and with virtual port 0.0 "
            "of "
            "node 2"}})
    EXPECT_EQ(refused([&] { made.vcsn.rewire(circuits); }), said);
  for (const auto& [topology, said] : std::vector<std::pair<Topology, std::string>>{
           {Topology::of("star", 16), "star: node 0 has 15 circuits; it has 4 virtual ports"},
           {{"graph", {{2, 2}}}, "graph: a circuit joins node 2 with itself"},
           {{"graph", {{2, -1}}}, "graph: node -1 is not an FPGA; the FPGAs of vcsn-d5005 are 0 to 15"}})
    EXPECT_EQ(refused([&] { made.vcsn.rewire(topology); }), said);
  EXPECT_EQ(made.vcsn.circuits(), before);
}

TEST(Vcsn, MapsRandomGraphsOnVirtualPorts) {
  // A graph of degree at most 4 splits into two of degree at most 2 (Petersen, 1891): one for each external port with
  // its two virtual ones.
  std::mt19937 draw(static_cast<unsigned>(test_seed()));
  for (unsigned run = 0; run < 300; ++run) {
    Topology topology{"graph", {}};
    std::vector<unsigned> degree(16);
    for (unsigned k = below(draw, 300); k > 0; --k) {
      const unsigned a = below(draw, 16), b = below(draw, 16);
      if (a == b || std::max(degree[a], degree[b]) == 4) continue;
      ++degree[a], ++degree[b];
      topology.edges.emplace_back(a, b);
    }
    const auto circuits = mapped(topology, board());
    ASSERT_EQ(circuits.size(), topology.edges.size());
    std::set<VirtualPort> ends;
    for (std::size_t k = 0; k < circuits.size(); ++k) {
      const auto& [one, other] = circuits[k];
      EXPECT_EQ((Topology::Edge{one.node, other.node}), topology.edges[k]);
      EXPECT_EQ(one.port, other.port);  // one switch per external port
      EXPECT_LT(std::max(one.virtual_port, other.virtual_port), 2U);
      ends.insert({one, other});
    }
    EXPECT_EQ(ends.size(), 2 * circuits.size());
  }
}

TEST(Vcsn, RewritesTheRowsThatChangeInTheTimeThatItSays) {
  // Table 5: t is 124 us for the eight virtual ports of a server; Equation 6 has the barrier of eight servers.
  Board at_once, in_time;
  const auto first = at_once.vcsn.rewire(Topology::of("torus", 16, {4, 4}));
  EXPECT_EQ(first.rows.size(), 64U);
  EXPECT_NEAR(*first.servers_us, 124 + 5.84 + 3 * 33.4, 1e-9);
  EXPECT_TRUE(at_once.vcsn.rewire(Topology::of("torus", 16, {4, 4})).rows.empty());
  const auto circuits = mapped(Topology::of("torus", 16, {4, 4}), board());
  const auto written = in_time.vcsn.rewire_in_time(circuits, Way::servers);
  EXPECT_EQ(written.rows.size(), 64U);
  EXPECT_NEAR(written.us, *first.servers_us, 1e-3);
  in_time.vcsn.rewire(std::vector<Ends>{});
  EXPECT_NEAR(in_time.vcsn.rewire_in_time(circuits, Way::registers).us, *first.registers_us, 1e-3);
  EXPECT_EQ(in_time.vcsn.circuits(), at_once.vcsn.circuits());
}

TEST(Vcsn, KeepsPartitionsApart) {
  Board made;
  auto& left = made.vcsn.partition("left", {0, 1, 2});
  auto& right = made.vcsn.partition("right", {3, 4});
  left.rewire(Topology{"line", {{0, 1}, {1, 2}}});
  right.rewire(Topology{"line", {{3, 4}}});
  EXPECT_EQ(left.circuits().size(), 4U);
  EXPECT_EQ(refused([&] { left.rewire({{{0, 0, 0}, {3, 0, 0}}}); }),
            "a circuit connects virtual ports of one partition: virtual port 0.0 of node 0 is in left, virtual port "
            "0.0 of node 3 is in right");
  EXPECT_EQ(refused([&] { static_cast<void>(left.network(3)); }), "node 3 is not in partition left");
  EXPECT_NE(refused([&] { made.vcsn.partition("right", {2}); }), "");  // its circuit would leave
  left.rewire(std::vector<Ends>{});
  made.vcsn.partition("right", {2});
  EXPECT_EQ(left.nodes(), (std::vector<unsigned>{0, 1}));
  EXPECT_EQ(right.nodes(), (std::vector<unsigned>{2, 3, 4}));
  EXPECT_EQ(right.circuits().size(), 2U);
}

TEST(Vcsn, BringsTheBlocksOfRandomTransfersGathersAndScatters) {
  std::mt19937 draw(static_cast<unsigned>(test_seed()));
  for (unsigned run = 0; run < 12; ++run) {
    const std::uint64_t size = std::vector<std::uint64_t>{1, 64, 1'000, 9'152, 50'000}[below(draw, 5)];
    std::vector<unsigned> nodes = board().fpgas();
    std::ranges::shuffle(nodes, draw);
    nodes.resize(2 + below(draw, 15));
    const char* by = std::vector{"tree", "ring", "relink"}[below(draw, 3)];
    Schedule schedule = gather_schedule(board(), by, nodes, nodes[below(draw, static_cast<unsigned>(nodes.size()))]);
    if (below(draw, 2)) schedule = scatter(schedule);
    if (below(draw, 4) == 0) schedule = transfer_schedule({nodes[0], 1, 1}, {nodes[1], 1, below(draw, 2)});
    const Collective collective(board(), schedule, size);
    Network network(board().hardware(), "");
    std::map<unsigned, std::vector<std::byte>> data;
    for (const auto& [of, address] : collective.before()) {
      data[of.second] = random_bytes(draw, size);
      network.memory(of.first).write(address, data[of.second]);
    }
    EXPECT_GT(collective.run(network), 0);
    for (const auto& [of, address] : collective.ends()) {
      std::vector<std::byte> came(size);
      network.memory(of.first).read(address, came);
      EXPECT_EQ(came, data.at(of.second)) << by << ", block " << of.second << " of " << nodes.size();
    }
    EXPECT_TRUE(network.lost().empty());
  }
}

Program receives(Network& network, const ServerCosts& costs) {
  co_yield Work{costs.circuit};
  network.set_circuit({5, 0, 0}, VirtualPort{0, 0, 1});
  co_yield Work{costs.crossbar};
  network.connect(5, 0, network.node(5).place(0, 0));
  co_yield Barrier{};
  co_yield Work{costs.start};
  network.write(5, 0, {.handle = 1, .segments = {{4096, 100}}});
  co_yield Interrupt{1};
}
Program sends(Network& network, const ServerCosts& costs) {
  co_yield Work{costs.circuit};
  network.set_circuit({0, 0, 1}, VirtualPort{5, 0, 0});
  co_yield Work{costs.crossbar};
  network.connect(0, network.node(0).place(0, 1), 0);
  co_yield Barrier{};
  co_yield Work{costs.start};
  network.read(0, 0, {.handle = 2, .segments = {{0, 100}}});
  co_yield Interrupt{2};
}

TEST(Vcsn, TakesTheTimeOfTheFiveStepsOfAProgram) {
  // Section 4.1: t and c of Table 5 (a row, the crossbars), a barrier of two servers (Equation 6), the start of an
  // engine, which takes as long as a crossbar, the latency between crossbars (Table 1), and the path between memories
  // and crossbars.
  Board made;
  std::mt19937 draw(static_cast<unsigned>(test_seed()));
  const auto data = random_bytes(draw, 100);
  made.network.memory(0).write(0, data);
  const auto& costs = board().servers();
  const double us = run(made.network, {{18, {costs.at(18), sends(made.network, costs.at(18))}},
                                       {20, {costs.at(20), receives(made.network, costs.at(20))}}});
  EXPECT_NEAR(us, 15.5 + 1.35 + 5.84 + 33.4 + 1.35 + 0.8511, 0.4);
  std::vector<std::byte> came(100);
  made.network.memory(5).read(4096, came);
  EXPECT_EQ(came, data);
}

Program waits_for_ever(Network& network) {
  network.write(0, 0, {.handle = 7, .segments = {{0, 64}}});
  co_yield Interrupt{7};
}
Program comes_to_a_barrier() {
  co_yield Barrier{};
}
Program works(double us) {
  co_yield Work{us};
}

TEST(Vcsn, SaysWhoWaitsForWhom) {
  Board made;
  const auto& costs = board().servers();
  try {
    run(made.network, {{18, {costs.at(18), waits_for_ever(made.network)}}, {19, {costs.at(19), comes_to_a_barrier()}}});
    FAIL();
  } catch (const Stuck& stuck) {
    EXPECT_EQ(std::string(stuck.what()),
              "deadlock: write engine 0 of node 0 waits for words of transfer 7, for no input of the crossbar; "
              "server 18 waits for the interrupt of transfer 7; server 19 waits at a barrier");
  }
  EXPECT_NEAR(run(made.network, {{18, {costs.at(18), works(12.5)}}}), 12.5, 1e-3);
  EXPECT_THROW(run(made.network, {{18, {costs.at(18), works(-1)}}}), WrongProgram);
}

}  // namespace
}  // namespace thalweg::vcsn
