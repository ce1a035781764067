// SPDX-License-Identifier: Apache-2.0
// Do elements arrive as they were pushed, at the times given by the polling?
#include "smi/driver/fabric.hpp"

#include <gtest/gtest.h>

#include <random>

#include "../../seed.hpp"
#include "core/kernel.hpp"
#include "smi/lines.hpp"

namespace thalweg::smi {
namespace {

using enum EndpointKind;

Open channel(std::uint32_t count, unsigned peer, unsigned window = 0, unsigned size = 2) {
  Open open;
  open.count = count;
  open.type = spec::Datatype::int32;
  open.size = size;
  open.per_packet = max_elements(32, size);
  open.window = window;
  open.peer = peer;
  return open;
}

Open circuit(std::uint32_t count, unsigned peer, unsigned size = 2) {
  Open open = channel(count, peer, 0, size);
  const unsigned whole = 32U >> size;
  open.packets = (count + whole - 1) / whole;
  return open;
}

struct Line {
  Line(std::vector<std::vector<EndpointOf>> endpoints, const LineValues& values = {})
      : fabric(line_of(static_cast<unsigned>(endpoints.size()), values), endpoints), kernels(fabric.time()) {
    fabric.load(tables_of(static_cast<unsigned>(endpoints.size()), values.links, endpoints));
  }
  Board::Port& port(unsigned rank, unsigned endpoint) { return fabric.board(rank).ports()[endpoint]; }
  Kernel& add(const std::string& name, std::function<void()> body) {
    return kernels.add(name, fabric.clock(), std::move(body));
  }

  Fabric fabric;
  Kernels kernels;
};

TEST(SmiFabric, ElementsComeInOrder) {
  for (const unsigned window : {0u, 1u, 2u, 7u})
    for (const unsigned size : {0u, 1u, 2u, 3u})
      for (const unsigned count : {0u, 1u, 6u, 7u, 8u, 100u, 1001u}) {
        Line line({{{push, 3, 16, size}}, {}, {{pop, 3, 16, size}}});
        std::vector<std::uint64_t> got;
        line.add("pushes", [&] {
          auto& port = line.port(0, 0);
          for (unsigned turn = 0; turn < 2; ++turn) {
            port.open.push(channel(count, 2, window, size));
            for (unsigned i = 0; i < count; ++i) port.in.push({(i + turn * 3) & 0x7F, false});
          }
        });
        line.add("pops", [&] {
          auto& port = line.port(2, 0);
          for (unsigned turn = 0; turn < 2; ++turn) {
            port.open.push(channel(count, 0, window, size));
            for (unsigned i = 0; i < count; ++i) got.push_back(port.out.pop().data);
          }
        });
        line.kernels.run();
        ASSERT_EQ(got.size(), 2 * count);
        for (unsigned i = 0; i < 2 * count; ++i) ASSERT_EQ(got[i], (i % count + i / count * 3) & 0x7F) << i;
        EXPECT_EQ(line.fabric.board(1).node().strays(), 0u);
      }
}

/// A rank on the path has no route: later packets pass, and each packet is counted, including those that follow in a
/// circuit.
TEST(SmiFabric, PacketsWithoutARouteAreDroppedAndCounted) {
  for (const bool circuits : {false, true}) {
    constexpr unsigned kCount = 200;
    const std::vector<std::vector<EndpointOf>> endpoints{{{push, 3}, {push, 4}}, {{pop, 4}}, {}};
    LineValues values;
    if (circuits) values.switching = "circuit";
    Line line(endpoints, values);
    auto tables = tables_of(3, values.links, endpoints);
    for (auto& table : tables[1].send) table[2] = 0xFF;
    line.fabric.load(tables);
    line.add("lost", [&] {
      auto& port = line.port(0, 0);
      port.open.push(circuits ? circuit(kCount, 2) : channel(kCount, 2));
      for (unsigned i = 0; i < kCount; ++i) port.in.push({i, false});
    });
    std::vector<std::uint64_t> got;
    line.add("pushes", [&] {
      auto& port = line.port(0, 1);
      Kernel::current().pause(100);
      port.open.push(channel(kCount, 1));
      for (unsigned i = 0; i < kCount; ++i) port.in.push({i, false});
    });
    line.add("pops", [&] {
      auto& port = line.port(1, 0);
      port.open.push(channel(kCount, 0));
      for (unsigned i = 0; i < kCount; ++i) got.push_back(port.out.pop().data);
      Kernel::current().pause(2000);
    });
    line.kernels.run();
    EXPECT_EQ(got.size(), kCount);
    auto& node = line.fabric.board(1).node();
    EXPECT_EQ(node.unrouted(), circuits ? 1u + kCount / 8 : (kCount + 6u) / 7);
    EXPECT_EQ(node.strays(), 0u);
  }
}

/// Circuits behind each other and behind packets; of whole messages, or of parts that fit into FIFOs or do not.
TEST(SmiFabric, CircuitsAndPacketsComeInOrder) {
  for (const auto& [size, most] : {std::pair{0u, 0}, {1u, 1}, {2u, 15}, {3u, 3}, {2u, 40}, {3u, 0}})
    for (const unsigned count : {0u, 1u, 3u, 4u, 7u, 8u, 9u, 31u, 32u, 33u, 1001u}) {
      Line line({{{push, 3, 16, size}}, {}, {{pop, 3, 16, size}}}, {.switching = "circuit", .circuit_packets = most});
      constexpr unsigned kTurns = 4;
      std::vector<std::uint64_t> got;
      line.add("pushes", [&] {
        auto& port = line.port(0, 0);
        for (unsigned turn = 0; turn < kTurns; ++turn) {
          port.open.push(turn == 2 ? channel(count, 2, 0, size) : circuit(count, 2, size));
          for (unsigned i = 0; i < count; ++i) port.in.push({(i + turn * 3) & 0x7F, false});
        }
      });
      line.add("pops", [&] {
        auto& port = line.port(2, 0);
        for (unsigned turn = 0; turn < kTurns; ++turn) {
          port.open.push(channel(count, 0, 0, size));
          for (unsigned i = 0; i < count; ++i) {
            const auto element = port.out.pop();
            EXPECT_EQ(element.source, 0u);
            got.push_back(element.data);
          }
        }
      });
      line.kernels.run();
      ASSERT_EQ(got.size(), kTurns * count);
      for (unsigned i = 0; i < kTurns * count; ++i) ASSERT_EQ(got[i], (i % count + i / count * 3) & 0x7F) << i;
      EXPECT_EQ(line.fabric.board(1).node().strays(), 0u);
    }
}

/// Here a link takes a packet in 16 cycles. A packet has 7 floats, or 8 in a circuit, where one of the packets has
/// none.
TEST(SmiFabric, CircuitsCarryElementsAtTheLinksRate) {
  for (const auto& [circuits, most, cycles] :
       {std::tuple{false, 0, 16.0 / 7}, {true, 0, 2.0}, {true, 15, 2.0 * 16 / 15}, {true, 3, 2.0 * 4 / 3}}) {
    constexpr unsigned kCount = 40'000;
    Line line({{{push, 0}}, {{pop, 0}}}, {.gbit_s = 4, .switching = "circuit", .circuit_packets = most});
    Tick begin = 0, end = 0;
    line.add("pushes", [&] {
      auto& port = line.port(0, 0);
      port.open.push(circuits ? circuit(kCount, 1) : channel(kCount, 1));
      for (unsigned i = 0; i < kCount; ++i) port.in.push({i, false});
    });
    line.add("pops", [&] {
      auto& port = line.port(1, 0);
      for (unsigned i = 0; i < kCount; ++i) {
        static_cast<void>(port.out.pop());
        if (i == 0) begin = Kernel::current().cycle();
      }
      end = Kernel::current().cycle();
    });
    line.kernels.run();
    EXPECT_NEAR(static_cast<double>(end - begin) / kCount, cycles, 0.01);
  }
}

/// Two ranks' circuits cross a third one, which also sends, while all take part in a broadcast: a held output blocks
/// only the packets for that output.
TEST(SmiFabric, CircuitsCrossBesideCollectives) {
  std::mt19937_64 draw(test_seed());
  for (unsigned run = 0; run < 20; ++run) {
    constexpr unsigned kRanks = 4;
    const std::vector<EndpointOf> all{{push, 0}, {push, 1}, {push, 2}, {broadcast, 3, 4}, {pop, 4}, {pop, 5}, {pop, 6}};
    LineValues values{.reads = 1 + static_cast<std::int64_t>(draw() % 8), .switching = "circuit"};
    values.depth = 2 + static_cast<std::int64_t>(draw() % 6);
    values.circuit_packets = static_cast<std::int64_t>(draw() % 8);
    Line line(std::vector(kRanks, all), values);
    // The data of port p of a rank go to its pop at 4 + p.
    auto tables = tables_of(kRanks, 2, std::vector(kRanks, all));
    for (auto& of : tables)
      for (auto& table : of.receive)
        for (unsigned p = 0; p < 3; ++p) table[2 * p] = table[2 * (4 + p)];
    line.fabric.load(tables);
    unsigned right = 0, wanted = 0;
    for (unsigned r = 0; r < kRanks; ++r) {
      for (unsigned p = 0; p < 3; ++p) {  // port p of rank r to the rank p + 1 further on, with either switching
        const auto count = static_cast<unsigned>(draw() % 300), pause = static_cast<unsigned>(draw() % 400);
        const unsigned to = (r + p + 1) % kRanks;
        const bool packets = draw() % 4 == 0;
        wanted += count;
        line.add("push", [&line, r, p, count, pause, to, packets] {
          Kernel::current().pause(pause);
          auto& port = line.port(r, p);
          port.open.push(packets ? channel(count, to) : circuit(count, to));
          for (unsigned i = 0; i < count; ++i) {
            port.in.push({i * 5 + r, false});
            if (i % 64 == 63) Kernel::current().pause(pause / 8);
          }
        });
        line.add("pop", [&line, &right, r, p, count, to, pause] {
          auto& port = line.port(to, 4 + p);
          for (unsigned i = 0; i < count; ++i) {
            const auto element = port.out.pop();
            right += element.data == i * 5 + r && element.source == r;
            if (i % 50 == 49) Kernel::current().pause(pause / 16);
          }
        });
      }
      constexpr unsigned kCount = 200;
      wanted += r == 0 ? 0 : kCount;
      line.add("broadcast", [&line, &right, r] {
        auto& port = line.port(r, 3);
        Open open = channel(kCount, 0);
        open.own = r;
        open.ranks = kRanks;
        open.arity = kRanks - 1;
        port.open.push(open);
        for (unsigned i = 0; i < kCount; ++i)
          if (r == 0)
            port.in.push({i * 3, false});
          else
            right += port.out.pop().data == i * 3;
      });
    }
    line.kernels.run();
    EXPECT_EQ(right, wanted);
  }
}

/// Table 4 of the paper: with four links a send kernel has five inputs; one has packets, so R of them leave in R + 4
/// cycles.
TEST(SmiFabric, PollingSetsTheRateOfInjection) {
  for (const std::int64_t reads : {1, 4, 8, 16}) {
    constexpr unsigned kMessages = 4000;
    LineValues values{.links = 4, .reads = reads};
    values.gbit_s = 640;
    values.link_buffer = 256;
    // Endpoint 2 is at the link that leads to the other rank.
    Line line({{{push, 0}, {push, 1}, {push, 2}, {push, 3}}, {{pop, 0}, {pop, 1}, {pop, 2}, {pop, 3}}}, values);
    Tick begin = 0, end = 0;
    line.add("pushes", [&] {
      auto& port = line.port(0, 2);
      for (unsigned i = 0; i < kMessages; ++i) {
        port.open.push(channel(1, 1));
        port.in.push({i, false});
        if (i == 100) begin = Kernel::current().cycle();
      }
      end = Kernel::current().cycle();
    });
    line.add("pops", [&] {
      auto& port = line.port(1, 3);
      port.open.push(channel(kMessages, 0));
      for (unsigned i = 0; i < kMessages; ++i) static_cast<void>(port.out.pop());
    });
    // Port 2 is at link 2 of rank 0; packets that arrive by link 3 of rank 1 are for the port there.
    auto tables =
        tables_of(2, 4, {{{push, 0}, {push, 1}, {push, 2}, {push, 3}}, {{pop, 4}, {pop, 1}, {pop, 5}, {pop, 2}}});
    line.fabric.load(tables);
    line.kernels.run();
    const double cycles = static_cast<double>(end - begin) / (kMessages - 101);
    EXPECT_NEAR(cycles, static_cast<double>(reads + 4) / static_cast<double>(reads), 0.01) << "R = " << reads;
  }
}

/// Every rank sends to every other one, with credits or in circuits, all at once.
TEST(SmiFabric, AllToAllGetsThrough) {
  constexpr unsigned kRanks = 5, kCount = 500;
  std::vector<std::vector<EndpointOf>> endpoints(kRanks);
  for (auto& of : endpoints)
    for (unsigned p = 0; p < kRanks; ++p) of.push_back({push, 2 * p, 4}), of.push_back({pop, 2 * p, 4});
  std::mt19937 draw(1);
  // The data of p are pushed into port 2 p of a rank; a push and a pop at one port have different control and data
  // endpoints.
  for (unsigned seed = 0; seed < 10; ++seed) {
    const bool circuits = seed % 2 == 1;
    LineValues values{.reads = 1 + seed / 2 * 3, .switching = "circuit", .circuit_packets = seed / 2 * 6};
    Line line(endpoints, values);
    auto tables = tables_of(kRanks, 2, endpoints);
    for (unsigned r = 0; r < kRanks; ++r)  // control to the push, data to the pop
      for (unsigned l = 0; l < 2; ++l)
        for (unsigned p = 0; p < kRanks; ++p) {
          const unsigned pushes = 2 * p, pops = 2 * p + 1;
          const auto to = [&](unsigned e, unsigned control) {
            return static_cast<std::uint8_t>(e % 2 == l ? 2 + 2 * (e / 2) + control : 1);
          };
          tables[r].receive[l][4 * p] = to(pops, 0);
          tables[r].receive[l][4 * p + 1] = to(pushes, 1);
        }
    line.fabric.load(tables);
    std::vector<unsigned> sums(kRanks * kRanks);
    for (unsigned r = 0; r < kRanks; ++r)
      for (unsigned p = 0; p < kRanks; ++p) {
        const Tick wait = static_cast<Tick>(draw() % 50);
        line.add("push", [&line, r, p, wait, circuits] {
          Kernel::current().pause(wait);
          auto& port = line.port(r, 2 * p);  // port 2 p at both ends: rank p sends by port 2 r to r
          const unsigned to = (p + r) % kRanks;
          port.open.push(circuits ? circuit(kCount, to) : channel(kCount, to, 2));
          for (unsigned i = 0; i < kCount; ++i) port.in.push({i * (r + 1), false});
        });
        line.add("pop", [&line, &sums, r, p, wait, circuits] {
          Kernel::current().pause(3 * wait);
          auto& port = line.port(r, 2 * p + 1);
          const unsigned from = (r + kRanks - p) % kRanks;
          port.open.push(channel(kCount, from, circuits ? 0 : 2));
          for (unsigned i = 0; i < kCount; ++i) sums[r * kRanks + p] += port.out.pop().data == i * (from + 1);
        });
      }
    line.kernels.run();
    for (const unsigned sum : sums) EXPECT_EQ(sum, kCount);
  }
}

}  // namespace
}  // namespace thalweg::smi
