// SPDX-License-Identifier: Apache-2.0
// Do the windows of a usage and the spans of stalls keep everything that was added, however much time passes?
#include "core/usage.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "core/kernel.hpp"
#include "core/stalls.hpp"
#include "core/stream.hpp"

namespace thalweg {
namespace {

TEST(Usage, WindowsHaveWhatWasAddedInThem) {
  std::mt19937 draw(1);
  Usage usage;
  std::vector<Tick> cycles;
  for (Tick cycle = 0; cycles.size() < 20'000; cycle += draw() % 60) {
    usage.add(cycle);
    cycles.push_back(cycle);
    if (cycles.size() % 1000 != 1) continue;
    std::vector<std::uint64_t> expected(Usage::kWindows);
    for (const auto each : cycles) ++expected.at(static_cast<std::size_t>(each / usage.window()));
    EXPECT_EQ(std::vector<std::uint64_t>(usage.amounts().begin(), usage.amounts().end()), expected);
  }
  EXPECT_LE(usage.window(), 2 * cycles.back() / static_cast<Tick>(Usage::kWindows) + 1);
}

TEST(Stalls, SpansKeepAllStalledTicksAndEndWithTheLastStall) {
  std::mt19937 draw(2);
  const std::string one = "a", other = "b";
  Stalls stalls;
  Tick at = 0, stalled[2] = {}, last[2] = {};
  for (int i = 0; i < 100'000; ++i) {
    const auto of = draw() % 2;
    const Tick length = 1 + draw() % 9;
    at += draw() % 20;
    stalls.add(at, at + length, {"pop from", of ? &other : &one});
    stalled[of] += length;
    last[of] = at += length;
  }
  ASSERT_EQ(stalls.all().size(), 2u);
  for (const auto& cause : stalls.all()) {
    const auto of = cause.cause.of == &other;
    const auto& spans = cause.spans;
    EXPECT_LE(spans.size(), 512u);
    EXPECT_GE(spans.size(), 2u);
    EXPECT_EQ(cause.cause.text(), of ? "pop from b" : "pop from a");
    EXPECT_EQ(std::accumulate(spans.begin(), spans.end(), Tick{0},
                              [](Tick sum, const Stalls::Span& span) { return sum + span.stalled; }),
              stalled[of]);
    EXPECT_EQ(spans.back().end, last[of]);
    for (std::size_t i = 0; i < spans.size(); ++i) {
      EXPECT_LE(spans[i].stalled, spans[i].end - spans[i].begin);
      if (i > 0) {
        EXPECT_LT(spans[i - 1].end, spans[i].begin);
      }
    }
  }
}

TEST(Stalls, AKernelSaysForWhichStreamItStalled) {
  Domains time;
  Domain& clock = time.add({});
  Kernels kernels(time);
  kernels.record();
  Stream<int> stream("numbers", 2);
  const auto& from = kernels.add("from", clock, [&] {
    Kernel::current().pause(100);
    stream.push(1);
  });
  const auto& to = kernels.add("to", clock, [&] { static_cast<void>(stream.pop()); });
  kernels.run();
  ASSERT_NE(to.stalls(), nullptr);
  EXPECT_TRUE(from.stalls()->all().empty());
  ASSERT_EQ(to.stalls()->all().size(), 1u);
  const auto& cause = to.stalls()->all().front();
  EXPECT_EQ(cause.cause.text(), "pop from numbers");
  ASSERT_EQ(cause.spans.size(), 1u);
  EXPECT_EQ(cause.spans.front().begin, 0);
  EXPECT_EQ(cause.spans.front().end, 101);
  EXPECT_EQ(cause.spans.front().stalled, to.stalled());
}

}  // namespace
}  // namespace thalweg
