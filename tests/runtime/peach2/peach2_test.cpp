// SPDX-License-Identifier: Apache-2.0
// Do data arrive at their destinations, and do reductions give the processor's results in the same order?
#include "peach2/peach2.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "peach2/clusters.hpp"
#include "peach2/rings.hpp"

namespace thalweg::peach2 {
namespace {

std::vector<std::byte> random_bytes(std::size_t count, unsigned seed) {
  std::mt19937 draw(seed);
  std::vector<std::byte> bytes(count);
  for (auto& byte : bytes) byte = static_cast<std::byte>(draw());
  return bytes;
}
std::vector<float> random_floats(std::size_t count, unsigned seed) {
  std::mt19937 draw(seed);
  std::uniform_real_distribution<float> value(-1, 1);
  std::vector<float> values(count);
  for (auto& v : values) v = value(draw);
  return values;
}
template <class T>
std::vector<T> at(SparseMemory& memory, std::uint64_t address, std::size_t count) {
  std::vector<T> values(count);
  memory.read(address, std::as_writable_bytes(std::span(values)));
  return values;
}
/// The calculator's order: the beats of each position one by one; then the upper half to the lower half, until one
/// record is left.
std::vector<float> reduced(std::span<const float> data, std::size_t record, std::size_t sums) {
  std::vector<float> sum(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(std::min(sums, data.size())));
  for (std::size_t i = sums; i < data.size(); ++i) sum[i % sums] += data[i];
  for (std::size_t half = sums / 2; half >= record; half /= 2)
    for (std::size_t i = 0; i < half; ++i)
      if (half + i < sum.size()) sum[i] += sum[half + i];
  sum.resize(record);
  return sum;
}

TEST(Peach2, GetsFromAnyNodeAtOnce) {
  Fabric fabric(rings_of(2, 4), windows_of_rings(2, 4));
  Peach2 hubs(fabric);
  const unsigned nodes = fabric.nodes();
  for (unsigned n = 0; n < nodes; ++n) fabric.node(n).host().memory(n % kMemories).write(64, random_bytes(6000, n));
  for (unsigned turn = 0; turn < 2; ++turn)
    for (unsigned n = 0; n < nodes; ++n)
      for (unsigned of = 0; of < nodes; ++of)  // all nodes query the same one at once, including itself
        hubs.get(n, memory_address(n, (n + turn) % kMemories, 8192 * (of + 1)), memory_address(of, of % kMemories, 64),
                 6000 - 4 * n);
  hubs.run();
  for (unsigned turn = 0; turn < 2; ++turn)
    for (unsigned n = 0; n < nodes; ++n)
      for (unsigned of = 0; of < nodes; ++of) {
        auto expected = random_bytes(6000, of);
        expected.resize(6000 - 4 * n);
        EXPECT_EQ(at<std::byte>(fabric.node(n).host().memory((n + turn) % kMemories), 8192 * (of + 1), expected.size()),
                  expected)
            << n << " from " << of;
      }
  EXPECT_THROW(hubs.get(0, 0, memory_address(nodes, 0), 8), std::invalid_argument);
}

TEST(Peach2, PutsFromAnyMemoryToAnyOther) {
  for (const unsigned rings : {1u, 2u}) {
    Fabric fabric(rings_of(rings, 4), windows_of_rings(rings, 4));
    Peach2 hubs(fabric);
    unsigned seed = 0;
    for (unsigned from = 0; from < fabric.nodes(); ++from)
      for (unsigned to = 0; to < fabric.nodes(); ++to) {
        const unsigned source = seed % kMemories, target = seed / 2 % kMemories;
        ++seed;
        const auto data = random_bytes(4 * (1 + seed * 37 % 1500), seed);
        const std::uint64_t place = 4 * (seed * 71 % 5000), there = 1 << 20 | 4 * (seed * 97 % 5000);
        fabric.node(from).host().memory(source).write(place, data);
        hubs.put(from, memory_address(to, target, there), memory_address(from, source, place),
                 static_cast<std::uint32_t>(data.size()), seed % 3 ? Descriptors::ram : Descriptors::host);
        hubs.run();
        EXPECT_EQ(at<std::byte>(fabric.node(to).host().memory(target), there, data.size()), data)
            << from << " to " << to;
      }
  }
}

TEST(Peach2, StoresAndWaits) {
  Fabric fabric(rings_of(1, 2), windows_of_rings(1, 2));
  Peach2 hubs(fabric);
  const std::array<std::uint32_t, 2> word{7, 9};
  const auto one = hubs.store(0, memory_address(1, kProcessor, 64), std::as_bytes(std::span(word)));
  const auto other = hubs.await(1, 68, 9);
  hubs.run();
  EXPECT_GT(other->end, one->end);
}

TEST(Peach2, AHubReducesAsTheProcessorDoes) {
  Fabric fabric(rings_of(1, 2), windows_of_rings(1, 2));
  Peach2 hubs(fabric);
  for (const bool by_hub : {true, false})
    for (const std::size_t records : {1u, 2u, 3u, 8u, 9u, 100u, 2048u}) {
      const auto data = random_floats(records * 8, static_cast<unsigned>(records));
      const auto bytes = std::as_bytes(std::span(data));
      const std::size_t half = records / 2 * 32;
      fabric.node(0).host().memory(kGpu0).write(0, bytes.first(half));
      fabric.node(0).host().memory(kGpu1).write(4096, bytes.subspan(half));
      Sources from;
      if (half) from.emplace_back(memory_address(0, kGpu0), half);
      from.emplace_back(memory_address(0, kGpu1, 4096), bytes.size() - half);
      hubs.reduce(0, memory_address(0, kGpu0, 1 << 20), from, {}, by_hub);
      hubs.run();
      EXPECT_EQ(at<float>(fabric.node(0).host().memory(kGpu0), 1 << 20, 8), reduced(data, 8, 64)) << records;
    }
}

TEST(Peach2, NodesReduceTogether) {
  for (const unsigned nodes : {1u, 2u, 3u, 4u, 8u, 16u}) {
    const unsigned rings = nodes == 16 ? 2 : 1;
    Fabric fabric(rings_of(rings, nodes / rings), windows_of_rings(rings, nodes / rings));
    Peach2 hubs(fabric);
    std::vector<unsigned> all(nodes);
    for (unsigned n = 0; n < nodes; ++n) all[n] = n;
    auto group = hubs.group(all, 1024);
    hubs.run();
    for (const std::size_t records : {8u, 2048u}) {
      std::vector<float> of_eights, whole;
      for (unsigned first = 0; first < nodes; first += 8) {
        std::vector<float> of_nodes;
        for (unsigned n = first; n < std::min(nodes, first + 8); ++n) {
          const auto data = random_floats(records * 8, n + 1000);
          fabric.node(n).host().memory(kGpu0).write(0, std::as_bytes(std::span(data)));
          const auto own = reduced(data, 8, 64);
          of_nodes.insert(of_nodes.end(), own.begin(), own.end());
        }
        const auto eight = reduced(of_nodes, 8, 64);
        of_eights.insert(of_eights.end(), eight.begin(), eight.end());
      }
      whole = nodes > 8 ? reduced(of_eights, 8, 64) : of_eights;
      std::vector<Outcome> handles;
      for (unsigned n = 0; n < nodes; ++n)
        handles.push_back(
            hubs.reduce(group, n, {{memory_address(n, kGpu0), static_cast<std::uint32_t>(32 * records)}}));
      hubs.run();
      for (unsigned n = 0; n < nodes; ++n) {
        EXPECT_EQ(at<float>(fabric.node(n).host().memory(kProcessor), 1024, 8), whole) << n << " of " << nodes;
        EXPECT_GT(handles[n]->end, handles[n]->begin);
      }
    }
  }
}

/// As programs begin: each name has one meaning.
namespace of_a_program {
using namespace thalweg;
using namespace thalweg::peach2;
constexpr Reduction kUnknown{.op = static_cast<Operator>(99)};
constexpr Reduction kOther{.op = Operator::prod, .type = Datatype::float64};
}  // namespace of_a_program

TEST(Peach2, RefusesAnUnknownNodeOrOperatorInOneLine) {
  Fabric fabric(rings_of(1, 4), windows_of_rings(1, 4));
  Peach2 hubs(fabric);
  const auto refusal = [](auto&& call) -> std::string {
    try {
      static_cast<void>(call());
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  const std::string unknown = "node 99 does not exist; the last one is 3";
  EXPECT_EQ(refusal([&] { return hubs.abort(99); }), unknown);
  EXPECT_EQ(refusal([&] { return hubs.reset(99); }), unknown);
  EXPECT_EQ(refusal([&] { return hubs.timeout(99, 5); }), unknown);
  EXPECT_EQ(refusal([&] { return hubs.restart_host(99); }), unknown);
  EXPECT_EQ(refusal([&] { return hubs.owners(99, 1); }), unknown);
  EXPECT_EQ(refusal([&] { return hubs.translate(99, 0, false, 0, 1 << 20, 4096); }), unknown);
  const Sources sources{{memory_address(0, kGpu0), 64}};
  const auto reduce = [&](const Reduction& how) { return hubs.reduce(0, memory_address(0, kGpu1), sources, how); };
  EXPECT_EQ(refusal([&] { return reduce(of_a_program::kUnknown); }),
            "the calculators do not reduce by 99 float32, only by sum float32");
  EXPECT_EQ(refusal([&] { return reduce(of_a_program::kOther); }),
            "the calculators do not reduce by prod float64, only by sum float32");
  hubs.run();
  EXPECT_EQ(hubs.counts(0).chains, 0u);
}

TEST(Peach2, SaysWhoWaits) {
  Fabric fabric(rings_of(1, 2), windows_of_rings(1, 2));
  Peach2 hubs(fabric);
  hubs.await(1, 64, 5);
  try {
    hubs.run();
    FAIL();
  } catch (const Stuck& stuck) {
    ASSERT_EQ(stuck.blocked.size(), 1U);
    EXPECT_EQ(stuck.blocked[0].who, "the processor of node 1");
    EXPECT_EQ(stuck.blocked[0].what, "for 5 at 64 of its memory");
    EXPECT_NE(std::string(stuck.what()).find(" us for 5 at 64 of its memory"), std::string::npos) << stuck.what();
  }
  // A chain written by a program: reads reach no further than the own host.
  EXPECT_THROW(hubs.put(0, memory_address(0, kProcessor), memory_address(1, kProcessor), 64), std::invalid_argument);
  spec::DmaDescriptor descriptor;
  descriptor.source = memory_address(1, kProcessor);
  descriptor.destination = memory_address(0, kProcessor);
  descriptor.size = 64;
  descriptor.last = true;
  const auto packed = descriptor.pack();
  const std::uint64_t chain = hub_address(0, kRamAt + 0x2000);
  hubs.store(0, chain, std::as_bytes(std::span(packed)));
  hubs.store(0, register_address(0, kStartRegister), std::as_bytes(std::span(&chain, 1)));
  hubs.await(0, 64, 1);
  try {
    hubs.run();
    FAIL();
  } catch (const Stuck& stuck) {
    EXPECT_NE(std::string(stuck.what()).find("a read where only writes are allowed"), std::string::npos)
        << stuck.what();
  }
}

}  // namespace
}  // namespace thalweg::peach2
