// SPDX-License-Identifier: Apache-2.0
// Does virtual time keep its ratio to the wall clock, however late it is queried?
#include "session/wall_clock.hpp"

#include <gtest/gtest.h>

namespace thalweg::session {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Tick kStride = 1000;

class WallClocks : public ::testing::Test {
 protected:
  const WallClock::Time begin{};
  /// 10 ticks per microsecond of the wall clock.
  WallClock clock{1'000'000'000, 0.01, kStride, begin, 0};
};

TEST_F(WallClocks, IdleTimePassesAsTheWallClockDoes) {
  EXPECT_EQ(clock.until(begin + microseconds(70), 0, kNever), 700);
  EXPECT_EQ(clock.until(begin + milliseconds(900), 700, kNever), 9'000'000);
  EXPECT_EQ(clock.until(begin + milliseconds(901), 9'000'000, 50'000'000), 9'010'000);
  EXPECT_EQ(clock.behind_s(), 0);
}

TEST_F(WallClocks, WhatHappensInTheFutureIsNotPassedByMoreThanAStride) {
  EXPECT_EQ(clock.until(begin + milliseconds(10), 0, 5'000), 5'000 + kStride);
  EXPECT_DOUBLE_EQ(clock.behind_s(), 0.01 - 6'000 / 1e7);
}

TEST_F(WallClocks, TimeThatABusySimulationLosesIsNotMadeUpFor) {
  Tick now = 0;
  auto wall = begin;
  for (int turn = 0; turn < 100; ++turn) {  // each turn takes 3 strides of the wall clock, and advances time by one
    wall += microseconds(300);
    const Tick next = clock.until(wall, now, now);
    EXPECT_EQ(next - now, kStride);
    now = next;
  }
  EXPECT_NEAR(clock.behind_s(), 100 * 200e-6, 1e-9);
  wall += microseconds(20);  // fast again: at the ratio, and no faster
  EXPECT_EQ(clock.until(wall, now, now) - now, 200);
}

TEST_F(WallClocks, PartsOfATickAreKept) {
  WallClock slow{1'000'000'000, 1e-6, kStride, begin, 0};  // one tick per millisecond
  Tick now = 0;
  for (int turn = 1; turn <= 3000; ++turn) now = slow.until(begin + microseconds(400 * turn), now, now);
  EXPECT_EQ(now, 1200);
}

TEST_F(WallClocks, SaysWhenATickMayBeReached) {
  EXPECT_EQ(clock.until(begin + microseconds(100), 0, 0), 1000);
  EXPECT_EQ(clock.at(1000), begin + microseconds(100));
  EXPECT_EQ(clock.at(3000), begin + microseconds(300));
  EXPECT_EQ(clock.until(begin + microseconds(100), 1000, 1000), 1000);
  EXPECT_EQ(clock.at(1500), begin + microseconds(150));
  // An engine beyond its permitted tick must wait longer.
  EXPECT_EQ(clock.until(begin + microseconds(100), 1400, 1400), 1400);
  EXPECT_EQ(clock.until(begin + microseconds(150), 1400, 1400), 1500);
}

}  // namespace
}  // namespace thalweg::session
