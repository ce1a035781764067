// SPDX-License-Identifier: Apache-2.0
// Is every component stepped exactly in the ticks for which it was woken, and is idle time skipped?
#include "core/scheduler.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "../../seed.hpp"
#include "core/wire.hpp"

namespace thalweg {
namespace {

struct Recorder : Component {
  std::vector<Tick> steps;
  Tick awake_until = -1;  ///< asks for the next tick up to this one
  bool step(Tick now) override {
    steps.push_back(now);
    return now < awake_until;
  }
};

TEST(Scheduler, StepsWhatIsWokenOnceATick) {
  Scheduler scheduler(8);
  Recorder one, other;
  const auto id = scheduler.add(one);
  scheduler.add(other);
  for (const Tick at : {0, 3, 3, 63, 64, 65, 200, 100'000}) scheduler.wake(id, at);
  scheduler.advance(100'000);
  EXPECT_EQ(one.steps, (std::vector<Tick>{0, 3, 63, 64, 65, 200}));
  EXPECT_EQ(scheduler.now(), 100'000);
  scheduler.advance(1'000'000'000'000);  // returns at once: only the first tick is due
  EXPECT_EQ(one.steps.back(), 100'000);
  EXPECT_TRUE(other.steps.empty());
  EXPECT_EQ(scheduler.next_due(), kNever);
}

TEST(Scheduler, AStepThatAsksForItIsFollowedByAnother) {
  Scheduler scheduler;
  Recorder part;
  part.awake_until = 130;
  scheduler.wake(scheduler.add(part), 60);
  scheduler.advance(1000);
  ASSERT_EQ(part.steps.size(), 71u);
  EXPECT_EQ(part.steps.front(), 60);
  EXPECT_EQ(part.steps.back(), 130);
}

TEST(Scheduler, InterruptEndsAfterTheTick) {
  struct Stopper : Component {
    Scheduler* scheduler;
    bool step(Tick) override { return scheduler->interrupt(), true; }
  } part;
  Scheduler scheduler;
  part.scheduler = &scheduler;
  scheduler.wake(scheduler.add(part), 7);
  scheduler.advance(100);
  EXPECT_EQ(scheduler.now(), 8);
}

TEST(Scheduler, SaysWhenAComponentCanBeWoken) {
  struct Again : Component {
    Scheduler* scheduler;
    ComponentId id;
    int steps = 0;
    bool step(Tick now) override {
      EXPECT_EQ(scheduler->next(), now + 1);
      EXPECT_EQ(scheduler->next_due(), kNever);
      if (++steps < 3) scheduler->wake(id, scheduler->next());
      return false;
    }
  } again;
  Scheduler scheduler;
  again.scheduler = &scheduler;
  again.id = scheduler.add(again);
  EXPECT_EQ(scheduler.next(), 0);
  scheduler.wake(again.id, 5);
  scheduler.advance(10);
  EXPECT_EQ(again.steps, 3);
  EXPECT_EQ(scheduler.next(), 10);
}

TEST(Scheduler, StepsEachComponentAloneInAWindow) {
  Scheduler scheduler(64);
  scheduler.set_window(10);
  std::vector<std::pair<char, Tick>> order;
  struct Part : Component {
    char name;
    std::vector<std::pair<char, Tick>>* order;
    bool step(Tick now) override { return order->emplace_back(name, now), false; }
  } a, b;
  for (Part* part : {&a, &b}) part->order = &order;
  a.name = 'a';
  b.name = 'b';
  const auto first = scheduler.add(a), second = scheduler.add(b);
  for (const Tick at : {2, 5, 12}) scheduler.wake(first, at), scheduler.wake(second, at);
  scheduler.advance(kNever);
  EXPECT_EQ(order, (std::vector<std::pair<char, Tick>>{{'a', 2}, {'a', 5}, {'b', 2}, {'b', 5}, {'a', 12}, {'b', 12}}));
  EXPECT_EQ(scheduler.now(), 13);
}

TEST(Scheduler, AnAnnouncedInterruptEndsTheWindow) {
  Scheduler scheduler(64);
  scheduler.set_window(10);
  Recorder one, other;
  one.awake_until = other.awake_until = 30;
  const auto id = scheduler.add(one);
  scheduler.wake(id, 3);
  scheduler.wake(scheduler.add(other), 4);
  scheduler.interrupt(id, 8);
  scheduler.advance(100);
  EXPECT_EQ(scheduler.now(), 9);
  EXPECT_EQ(one.steps.back(), 8);
  EXPECT_EQ(other.steps.back(), 8);
}

TEST(Scheduler, AComponentThatWakesAnotherWithinTheWindowIsAnError) {
  struct Waker : Component {
    Scheduler* scheduler;
    ComponentId other;
    bool step(Tick now) override { return scheduler->wake(other, now + 9), false; }
  } waker;
  Recorder other;
  for (const Tick window : {9, 10}) {
    Scheduler scheduler(64);
    scheduler.set_window(window);
    waker.scheduler = &scheduler;
    waker.other = scheduler.add(other);
    scheduler.wake(scheduler.add(waker), 0);
    if (window == 9)
      EXPECT_NO_THROW(scheduler.advance(1));
    else
      EXPECT_THROW(scheduler.advance(20), std::logic_error);
  }
}

TEST(Team, ExecutesAllPartsInEachRun) {
  std::vector<int> runs(5);
  Team team(5, [&](unsigned part) { ++runs[part]; });
  for (int i = 0; i < 1000; ++i) team.run();
  EXPECT_EQ(runs, std::vector<int>(5, 1000));
}

TEST(Team, ThrowsWhatThePartsThrow) {
  bool bad = true;
  Team team(3, [&](unsigned part) {
    if (bad && part > 0) throw std::runtime_error("part " + std::to_string(part));
  });
  try {
    team.run();
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "part 1");
  }
  bad = false;
  EXPECT_NO_THROW(team.run());
}

// Random wakes of many components, compared with a set of (tick, component).
TEST(Scheduler, AgreesWithASetOfWakes) {
  const auto seed = test_seed();
  std::mt19937 random(seed);
  Scheduler scheduler(100);
  std::vector<Recorder> parts(150);
  for (auto& part : parts) scheduler.add(part);
  std::set<std::pair<Tick, ComponentId>> wakes;
  for (int i = 0; i < 3000; ++i) {
    const auto id = static_cast<ComponentId>(random() % parts.size());
    const Tick at = random() % 2 ? random() % 300 : random() % 20'000;
    scheduler.wake(id, at);
    wakes.emplace(at, id);
  }
  scheduler.advance(20'000);
  for (ComponentId id = 0; id < parts.size(); ++id) {
    std::vector<Tick> expected;
    for (const auto& [at, who] : wakes)
      if (who == id) expected.push_back(at);
    EXPECT_EQ(parts[id].steps, expected);
  }
}

class Latency : public testing::TestWithParam<Tick> {};

TEST_P(Latency, EventsArriveThenAndWakeTheirReader) {
  struct Reader : Component {
    Inbox inbox;
    std::vector<std::pair<Tick, std::uint64_t>> seen;
    bool step(Tick now) override { return seen.emplace_back(now, inbox.take(now).events), false; }
  } reader;
  Scheduler scheduler(GetParam());
  reader.inbox.bind(scheduler, scheduler.add(reader));
  EventWire one(reader.inbox, 0, GetParam()), other(reader.inbox, 8, GetParam());
  for (Tick now = 0; now < 300; ++now) {
    if (now % 7 == 0) one.write(now, 1);
    if (now % 5 == 0) other.write(now, 2);
    scheduler.advance(now + 1);
  }
  scheduler.advance(1000);
  std::vector<std::pair<Tick, std::uint64_t>> expected;
  for (Tick now = 0; now < 300; ++now)
    if (now % 7 == 0 || now % 5 == 0)
      expected.emplace_back(now + GetParam(), (now % 7 == 0 ? 1 : 0) | (now % 5 == 0 ? 512 : 0));
  EXPECT_EQ(reader.seen, expected);
}

INSTANTIATE_TEST_SUITE_P(Wires, Latency, testing::Values(1, 2, 3, 4, 63, 110));

}  // namespace
}  // namespace thalweg
