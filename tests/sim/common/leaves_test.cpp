// SPDX-License-Identifier: Apache-2.0
// Arbiter, FIFO and skid register, compared with a queue and a search.
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "../../seed.hpp"
#include "common/arbiter.hpp"
#include "common/fifo.hpp"
#include "common/skid.hpp"

namespace thalweg {
namespace {

TEST(Arbiter, GrantsInTurnFromItsPointer) {
  Arbiter arbiter;
  std::vector<unsigned> winners;
  for (int i = 0; i < 6; ++i) {
    winners.push_back(arbiter.pick(0b1011));
    arbiter.accept(winners.back(), 4);
  }
  EXPECT_EQ(winners, (std::vector<unsigned>{0, 1, 3, 0, 1, 3}));
}

TEST(Arbiter, StaysWhereItIsUntilTheGrantIsTaken) {
  Arbiter arbiter;
  arbiter.accept(2, 64);
  EXPECT_EQ(arbiter.pick(std::uint64_t{1} << 63 | 1), 63u);
  EXPECT_EQ(arbiter.pick(0b100), 2u);
  EXPECT_EQ(arbiter.next(), 3u);
  arbiter.accept(63, 64);
  EXPECT_EQ(arbiter.next(), 0u);
}

/// Random pushes and pops, compared with a deque of at most `places` values whose front is visible one cycle later.
template <class Queue>
void agrees_with_a_queue(Queue queue, std::size_t places) {
  const auto seed = test_seed();
  std::mt19937 random(seed);
  std::deque<int> expected;
  for (int cycle = 0; cycle < 20'000; ++cycle) {
    ASSERT_EQ(queue.valid(), !expected.empty());
    ASSERT_EQ(queue.ready(), expected.size() < places) << "cycle " << cycle;
    if (queue.valid()) {
      ASSERT_EQ(queue.front(), expected.front());
    }
    const bool push = random() % 3 != 0, pop = random() % (cycle / 1000 % 2 ? 2 : 5) == 0;
    const bool pushed = push && queue.ready();
    queue.step(push ? &cycle : nullptr, pop);
    if (pop && !expected.empty()) expected.pop_front();
    if (pushed) expected.push_back(cycle);
  }
}

TEST(Fifo, IsAQueue) {
  for (const std::size_t depth : {1u, 2u, 5u, 8u}) agrees_with_a_queue(Fifo<int>(depth), depth);
}

TEST(Skid, IsAQueueOfTwo) {
  agrees_with_a_queue(Skid<int>(), 2);
}

TEST(Skid, CarriesAValueEveryCycle) {
  Skid<int> skid;
  for (int cycle = 0; cycle < 10; ++cycle) {
    EXPECT_TRUE(skid.ready());
    if (cycle) {
      EXPECT_EQ(skid.front(), cycle - 1);
    }
    skid.step(&cycle, true);
  }
}

}  // namespace
}  // namespace thalweg
