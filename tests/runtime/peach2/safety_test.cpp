// SPDX-License-Identifier: Apache-2.0
// Does each of many random writes arrive at the destination given by the windows, or is it refused and counted, and
// does none arrive elsewhere?
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <set>

#include "../../seed.hpp"
#include "peach2/clusters.hpp"
#include "peach2/rings.hpp"

namespace thalweg::peach2 {
namespace {

constexpr unsigned kNodes = 4, kWrites = 50'000;
constexpr std::uint64_t kSlot = 256;  ///< bytes apart: no two writes overlap

class Draw {
 public:
  explicit Draw(unsigned seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t end) { return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(engine_); }
  bool chance(unsigned percent) { return below(100) < percent; }

 private:
  std::mt19937_64 engine_;
};

/// True if every packet ends and none passes node 0, so that there is no wait-for cycle.
bool ends(const Wiring& wiring, const Tables& tables) {
  std::set<std::uint32_t> firsts{0};  // of ranges of pages that all hubs treat alike
  for (const auto& table : tables)
    for (const auto& window : table) firsts.insert({window.lower, window.upper + 1});
  for (const std::uint32_t page : firsts)
    for (unsigned from = 0; from < kNodes; ++from) {
      const auto ports = way(wiring, tables, from, page);
      if (ports.size() > kNodes) return false;
      for (std::size_t hop = 1; hop < ports.size(); ++hop)
        if (ports[hop].node == 0 && ports[hop].port != kNorth && ports[hop].port != kBus) return false;
    }
  return true;
}

/// The windows of a ring, behind others whose ranges may overlap and lead to other hosts or to a bus.
Tables random_windows(Draw& draw, const Wiring& wiring) {
  for (;;) {
    auto tables = windows_of_rings(1, kNodes);
    for (auto& table : tables)
      for (unsigned more = static_cast<unsigned>(draw.below(8)); more > 0; --more) {
        const auto lower = static_cast<std::uint32_t>(draw.below(kNodes + 2) << 23 | draw.below(1 << 12));
        const auto upper = static_cast<std::uint32_t>(lower + draw.below(1 << 12));
        table.insert(table.begin() + static_cast<std::ptrdiff_t>(draw.below(table.size() + 1)),
                     {draw.chance(90), std::array{kNorth, kEast, kWest, kBus}[draw.below(4)], kAllPages, lower, upper});
      }
    if (ends(wiring, tables)) return tables;
  }
}

struct Outcome {
  bool lands = false;
  PortOf at;  ///< the host's or the bus's port; or the input port at which it was refused
};
Outcome outcome(const Wiring& wiring, const Tables& tables, unsigned from, std::uint64_t address, std::size_t bytes) {
  const PortOf host{from, kNorth};
  if (address % 4096 + bytes > 4096 || address >= kAddresses) return {false, host};
  const auto ports = way(wiring, tables, from, static_cast<std::uint32_t>(address >> kPageBits) & kAllPages);
  if (ports.empty() || ports.front() == host) return {false, host};
  const PortOf last = ports.back();
  if (last.port == kNorth || last.port == kBus) return {true, last};
  return {false, *wiring[last.node][last.port]};
}

/// A memory of the cluster: the hosts', followed by the hub's.
SparseMemory& memory_of(Fabric& fabric, unsigned node, unsigned memory) {
  return memory == kMemories ? fabric.node(node).memory() : fabric.node(node).host().memory(memory);
}

struct Expected {
  struct Landed {
    unsigned node, memory;
    std::uint64_t at;
    std::vector<std::byte> data;
  };
  std::vector<Landed> landed;
  std::map<std::pair<unsigned, unsigned>, std::uint32_t> refused;  ///< by hub and port
  std::map<unsigned, std::uint64_t> unclaimed;                     ///< by host
};

TEST(Safety, EachWriteLandsWhereItsWindowSaysOrIsRefusedAndCounted) {
  const auto seed = static_cast<unsigned>(test_seed());
  Draw draw(seed);
  const auto wiring = rings(1, kNodes);
  Fabric fabric(rings_of(1, kNodes), windows_of_rings(1, kNodes));
  Expected expected;
  unsigned crossing = 0, beyond = 0;
  for (unsigned round = 0; round < 10; ++round) {
    const auto tables = random_windows(draw, wiring);
    fabric.load(tables);
    fabric.run();
    for (unsigned i = 0; i < kWrites / 10; ++i) {
      const unsigned from = static_cast<unsigned>(draw.below(kNodes));
      const unsigned dwords = 1 + static_cast<unsigned>(draw.below(kSlot / 4));
      // Separate addresses in the first 16 MByte of a memory: a host's, a hub's, or a missing node's.
      const std::uint64_t unique = (std::uint64_t{round} * kWrites / 10 + i) * kSlot;
      std::uint64_t address = draw.below(kNodes + 2) << kNodeShift;
      address += draw.chance(25) ? std::uint64_t{31} << kBaseShift : draw.below(4) << kMemoryShift;
      address += unique % (16 << 20) + (unique >> 24 << 25) + 4 * draw.below(kSlot / 4 - dwords + 1);
      if (dwords > 1 && draw.chance(5)) {
        address |= 4095 & ~std::uint64_t{3};  // its first bytes are the last ones of a page
        ++crossing;
      }
      if (draw.chance(5)) {
        address |= std::uint64_t{1} << (kAddressBits + draw.below(10));
        ++beyond;
      }
      std::vector<std::byte> data(dwords * 4);
      for (auto& byte : data) byte = static_cast<std::byte>(draw.below(256));
      fabric.node(from).processor().store(address, data);

      const auto [lands, at] = outcome(wiring, tables, from, address, data.size());
      const unsigned memory = static_cast<unsigned>(address >> kMemoryShift) % 4;
      if (!lands)
        ++expected.refused[{at.node, at.port}];
      else if (at.port == kBus)
        expected.landed.push_back({at.node, kMemories, address % kMemoryBytes, std::move(data)});
      else if (address >> kNodeShift == at.node && memory < kMemories)
        expected.landed.push_back({at.node, memory, address % (std::uint64_t{1} << kMemoryShift), std::move(data)});
      else
        ++expected.unclaimed[at.node];
    }
    fabric.run();
  }
  EXPECT_GT(crossing, 1000u);
  EXPECT_GT(beyond, 1000u);

  for (const auto& [node, memory, at, data] : expected.landed)
    for (unsigned n = 0; n < kNodes; ++n)
      for (unsigned m = 0; m <= kMemories; ++m) {
        std::vector<std::byte> there(data.size());
        memory_of(fabric, n, m).read(at, there);
        ASSERT_EQ(there, n == node && m == memory ? data : std::vector<std::byte>(data.size()))
            << "at " << at << " of memory " << m << " of node " << n;
      }
  EXPECT_GT(expected.landed.size(), kWrites / 4);
  std::uint64_t refused = 0;
  for (unsigned n = 0; n < kNodes; ++n) {
    const auto counts = fabric.counts(n);
    for (unsigned p = 0; p < kPorts; ++p) {
      EXPECT_EQ(counts.refused[p].count, (expected.refused[{n, p}])) << "hub " << n << ", port " << p;
      refused += counts.refused[p].count;
    }
    EXPECT_EQ(fabric.node(n).host().unclaimed(), expected.unclaimed[n]);
    EXPECT_EQ(counts.strays, 0u);
  }
  EXPECT_GT(refused, kWrites / 20);
}

}  // namespace
}  // namespace thalweg::peach2
