// SPDX-License-Identifier: Apache-2.0
// Are the components of several clocks stepped at their edges, in the order of the edges, and in no other cycles?
#include "core/clock.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "../../seed.hpp"
#include "core/random.hpp"

namespace thalweg {
namespace {

constexpr Clock k250{3}, k150{5};                  ///< of 750 MHz
constexpr Clock k250Far{165}, kEthernetFar{128};   ///< of 41.25 GHz, with 322.265625 MHz
constexpr Clock k274{20625}, kEthernet274{17536};  ///< of 5.65 THz

TEST(Clock, CyclesAreFoundAsBySearch) {
  for (const Clock clock : {Clock{1, 0}, Clock{3, 0}, Clock{5, 4}, Clock{128, 7}})
    for (Tick tick = 0; tick < 1000; ++tick) {
      Tick from = 0, after = 0;
      while (clock.edge(from) < tick) ++from;
      while (clock.edge(after) <= tick) ++after;
      EXPECT_EQ(clock.cycle_from(tick), from);
      EXPECT_EQ(clock.cycle_after(tick), after);
    }
  EXPECT_EQ((Clock{3, 1}.cycle_after(kNever)), kNever);
  EXPECT_EQ((Clock{3, 1}.edge(kNever)), kNever);
}

struct Step {
  Tick tick;
  unsigned part;
  bool operator==(const Step&) const = default;
  auto operator<=>(const Step&) const = default;
};

struct Part : Component {
  std::function<bool(Tick)> act;
  bool step(Tick now) override { return act(now); }
};

using Pair = std::array<Clock, 2>;

class TwoClocks : public testing::TestWithParam<Pair> {};

INSTANTIATE_TEST_SUITE_P(Ratios, TwoClocks,
                         testing::Values(Pair{k250, k150}, Pair{k250Far, kEthernetFar}, Pair{k274, kEthernet274},
                                         Pair{Clock{3, 2}, Clock{5, 4}}, Pair{Clock{165, 164}, Clock{128, 1}},
                                         Pair{Clock{}, Clock{}}, Pair{Clock{2, 0}, Clock{2, 1}}));

TEST_P(TwoClocks, EdgesAreInTheOrderOfASortedList) {
  Domains domains;
  std::vector<Step> steps, expected;
  std::array<Part, 2> parts;
  constexpr Tick kEnd = 10'000;
  for (unsigned i = 0; i < 2; ++i) {
    auto& domain = domains.add(GetParam()[i]);
    parts[i].act = [&steps, &domain, i](Tick now) { return steps.push_back({domain.clock.edge(now), i}), true; };
    domain.scheduler.wake(domain.scheduler.add(parts[i]), 0);
    for (Tick tick = domain.clock.phase; tick < kEnd; tick += domain.clock.period) expected.push_back({tick, i});
  }
  domains.advance(kEnd / 3);
  domains.advance(kEnd);
  EXPECT_EQ(domains.now(), kEnd);
  std::ranges::sort(expected);
  EXPECT_TRUE(std::ranges::is_sorted(steps, {}, &Step::tick));
  std::ranges::sort(steps);  // the steps of one tick are in any order
  EXPECT_EQ(steps, expected);
}

// Parts wake each other and themselves at random, near and far; the model is a set of all steps that are due.
TEST_P(TwoClocks, WakesAgreeWithASetOfSteps) {
  const auto seed = test_seed();
  constexpr unsigned kParts = 10;
  constexpr Tick kEnd = 200'000'000;
  const auto clock_of = [](unsigned part) { return GetParam()[part % 2]; };
  // The wakes of a part are a function of the part and the tick alone.
  const auto wakes = [&](Step at) {
    Random random(seed + mix(static_cast<std::uint64_t>(at.tick) * kParts + at.part));
    std::vector<Step> woken;
    for (unsigned i = random.below(7) / 2; i > 0; --i) {
      const unsigned part = random.below(kParts);
      const Tick ahead = random.below(8) == 0 ? random.below(1'000'000) : random.below(20);
      const auto clock = clock_of(part);
      woken.push_back({clock.edge(clock.cycle_after(at.tick) + ahead), part});
    }
    return woken;
  };

  std::set<Step> due;
  std::vector<Step> expected;
  for (unsigned part = 0; part < kParts; ++part) due.insert({clock_of(part).edge(part), part});
  while (!due.empty() && due.begin()->tick < kEnd && expected.size() < 20'000) {
    const Step now = *due.begin();
    due.erase(due.begin());
    expected.push_back(now);
    const auto woken = wakes(now);
    due.insert(woken.begin(), woken.end());
  }
  const Tick end = due.empty() ? kEnd : due.begin()->tick;
  std::erase_if(expected, [&](const Step& step) { return step.tick >= end; });

  Domains domains;
  std::array<Domain*, 2> both{&domains.add(GetParam()[0]), &domains.add(GetParam()[1])};
  std::vector<Step> steps;
  std::array<Part, kParts> parts;
  for (unsigned part = 0; part < kParts; ++part) {
    ASSERT_EQ(both[part % 2]->scheduler.add(parts[part]), part / 2);
    parts[part].act = [&, part](Tick now) {
      const Tick tick = clock_of(part).edge(now);
      steps.push_back({tick, part});
      for (const auto& woken : wakes({tick, part}))
        both[woken.part % 2]->wake(woken.part / 2, clock_of(woken.part).cycle_from(woken.tick));
      return false;
    };
    both[part % 2]->scheduler.wake(part / 2, part);
  }
  while (domains.now() < end) {
    const Tick next = domains.next_due();
    const auto position = steps.size();
    domains.advance(std::min(end, domains.now() + 777));
    EXPECT_EQ(next<domains.now(), steps.size()> position);
    if (steps.size() > position) {
      EXPECT_EQ(steps[position].tick, next);
    }
    if (domains.next_due() > domains.now()) domains.advance(std::min(end, domains.next_due()));
  }
  std::ranges::sort(steps);
  EXPECT_EQ(steps, expected);
}

TEST(Domains, IdleTimeIsSkippedInOneJump) {
  Domains domains;
  Domain &fast = domains.add(k250Far), &slow = domains.add(kEthernetFar);
  std::vector<Step> steps;
  std::array<Part, 2> parts;
  constexpr Tick kHour = 3600 * 41'250'000'000;
  const auto first = fast.scheduler.add(parts[0]), second = slow.scheduler.add(parts[1]);
  parts[0].act = [&](Tick now) {
    steps.push_back({fast.clock.edge(now), 0});
    slow.wake(second, slow.clock.cycle_from(kHour));
    return false;
  };
  parts[1].act = [&](Tick now) { return steps.push_back({slow.clock.edge(now), 1}), false; };
  fast.scheduler.wake(first, 1);
  EXPECT_EQ(domains.next_due(), 165);
  domains.advance(2 * kHour);
  EXPECT_EQ(steps, (std::vector<Step>{{165, 0}, {kHour, 1}}));  // an hour: a multiple of the second period
  EXPECT_EQ(domains.next_due(), kNever);
  EXPECT_EQ(slow.scheduler.now(), 2 * kHour / 128);
}

TEST(Domains, AnInterruptEndsTheTickAndNoMore) {
  Domains domains;
  Domain &first = domains.add(k250), &second = domains.add(k150);
  std::vector<Step> steps;
  std::array<Part, 2> parts;
  parts[0].act = [&](Tick now) {
    steps.push_back({first.clock.edge(now), 0});
    if (now == 5) domains.interrupt();
    return true;
  };
  parts[1].act = [&](Tick now) { return steps.push_back({second.clock.edge(now), 1}), true; };
  first.scheduler.wake(first.scheduler.add(parts[0]), 4);
  second.scheduler.wake(second.scheduler.add(parts[1]), 3);
  domains.advance(1000);
  EXPECT_EQ(domains.now(), 16);
  std::ranges::sort(steps);
  EXPECT_EQ(steps, (std::vector<Step>{{12, 0}, {15, 0}, {15, 1}}));  // both clocks have an edge at 15
  domains.advance(19);
  EXPECT_EQ(steps.back(), (Step{18, 0}));
}

// Its scheduler has not stepped since the start, however far the other clock is.
TEST_P(TwoClocks, TheNextCycleOfAnIdleClockIsAfterTheEdgeThatIsStepped) {
  for (const unsigned stepped : {0U, 1U})
    for (const Tick stride : {1, 100, 100'000}) {
      Domains domains;
      const std::array<Domain*, 2> both{&domains.add(GetParam()[0]), &domains.add(GetParam()[1])};
      Domain &busy = *both[stepped], &idle = *both[1 - stepped];
      Part part;
      part.act = [&](Tick now) {
        EXPECT_EQ(busy.next(), now + 1);
        EXPECT_EQ(idle.next(), idle.clock.cycle_after(busy.clock.edge(now)));
        return now < 100;
      };
      busy.scheduler.wake(busy.scheduler.add(part), 0);
      while (domains.next_due() != kNever) domains.advance(domains.now() + stride);
      EXPECT_EQ(idle.next(), idle.clock.cycle_from(domains.now()));
    }
}

}  // namespace
}  // namespace thalweg
