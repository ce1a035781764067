// SPDX-License-Identifier: Apache-2.0
// Does a DRAM channel take the time of its busiest resource? The expected values are closed forms of the standard's
// times.
#include "memory/dram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

#include "../../dram.hpp"
#include "../../seed.hpp"
#include "memory/dram_values.hpp"

namespace thalweg {
namespace {

// DDR4-2400 without refresh; a cycle is a nanosecond.
const DramTiming kDdr4 = [] {
  auto values = ddr4_2400();
  values.insert_or_assign("dram_trefi_ns", 0.0);
  return dram_of(Values("bank", values), 19.2, 1e9);
}();
constexpr double kBurst = 64 / 19.2;
constexpr double kTurns = 1.67 + 2.5 + 14.16;  ///< data bus turnaround, to writes and back
constexpr std::uint64_t kRow = 4 * 4 * 8192;   ///< distance of two consecutive rows of a bank

/// Time of `number` accesses of four bytes, requested together.
template <class Address>
double together(unsigned number, bool writes, const Address& address) {
  Dram dram(kDdr4);
  double done = 0;
  for (unsigned i = 0; i < number; ++i) done = std::max(done, dram.access(0, address(i), 4, writes));
  return done;
}

TEST(Dram, ConsecutiveBytesTakeTheBusAlone) {
  for (const unsigned bytes : {1024U, 1U << 20}) {
    Dram dram(kDdr4);
    EXPECT_NEAR(dram.access(100, 0, bytes, false), 100 + bytes / 19.2, 1e-6);
  }
  Dram pieces(kDdr4);
  double done = 0;
  for (std::uint64_t at = 0; at < 1 << 20; at += 1024) done = pieces.access(0, at, 1024, true);
  EXPECT_NEAR(done, (1 << 20) / 19.2, 1e-6);
}

TEST(Dram, ABurstIsMovedWhole) {
  EXPECT_NEAR(together(160, false, [](unsigned i) { return 64ULL * i + 8; }), 160 * kBurst, 1e-9);
  Dram dram(kDdr4);
  EXPECT_NEAR(dram.access(0, 60, 8, false), 21.0 / 4 + kBurst,
              1e-9);  // across the end of a burst: the next one also opens a row
}

TEST(Dram, BurstsOfOneGroupAreFurtherApart) {
  EXPECT_NEAR(together(100, false, [](unsigned i) { return 256ULL * (i % 8); }), 99 * 5 + kBurst, 1e-9);
}

TEST(Dram, RowsOfOneBankTakeItsCycle) {
  EXPECT_NEAR(together(100, false, [](unsigned i) { return kRow * i; }), 99 * (32 + 14.16) + kBurst, 1e-9);
  EXPECT_NEAR(together(100, true, [](unsigned i) { return kRow * i; }),
              99 * (14.16 + 10 + kBurst + 15 + 14.16) + kBurst, 1e-9);
  const auto hits = [](unsigned i) { return kRow * (i / 8) + 256 * (i % 8); };  // eight columns of each row
  EXPECT_NEAR(together(800, false, hits), 99 * (7 * 5 + 14.16 + 7.5 + 14.16) + 7 * 5 + kBurst, 1e-9);
}

TEST(Dram, RowsOfAllBanksAreOpenedFourInAWindow) {
  const auto scattered = [](unsigned i) { return kRow * (i / 16) + 64 * (i % 4) + 4ULL * 8192 * (i / 4 % 4); };
  EXPECT_NEAR(together(1600, false, scattered), 1599 * 21.0 / 4 + kBurst, 1e-6);
}

/// A read and a write stream through the same banks, in bursts of 1 KiB. If each burst is requested when the previous
/// one has been moved, each opens its row again; if several wait, those of a row are grouped, and the bus is idle only
/// for its turnarounds.
TEST(Dram, StreamsInOneBankCloseEachOthersRowsUnlessTheyWait) {
  constexpr unsigned kPairs = 32;
  for (const bool wait : {false, true}) {
    Dram dram(kDdr4);
    double now = 0;
    for (unsigned i = 0; i < kPairs; ++i)
      for (const bool writes : {false, true}) {
        const double done = dram.access(now, writes * 64 * kRow + 1024ULL * i, 1024, writes);
        now = wait ? std::max(now, done - 300) : done;
      }
    if (wait) {
      EXPECT_NEAR(now + 300, kPairs * (2048 / 19.2 + kTurns), 60);
    } else {
      // Four columns of a bank each; the delay from the last one to the precharge; and the precharge.
      const double reads = 3 * 5 + 14.16 + 7.5 + 14.16, writes = 3 * 5 + 14.16 + 10 + kBurst + 15 + 14.16;
      EXPECT_NEAR(now, kPairs * std::max(reads + writes, 2048 / 19.2 + kTurns), 60);
    }
  }
}

/// Reads and writes in open rows, one access after the other: the bus turns around twice per pair.
TEST(Dram, TheBusIsIdleForItsTurns) {
  Dram dram(kDdr4);
  double now = 0;
  for (unsigned i = 0; i < 100; ++i)
    for (const bool writes : {false, true}) now = dram.access(now, 0, 1024, writes);
  EXPECT_NEAR(now, 100 * 2048 / 19.2 + 99 * kTurns + 1.67, 1e-6);
}

/// Loads and stores of one burst each, all requested together. While a batch waits, ten of the previous batch may
/// overtake it; eleven had arrived before it began to wait.
TEST(Dram, WaitingReadsAndWritesGoInBatchesOfTheControllersLimit) {
  Dram dram(kDdr4);
  double done = 0;
  constexpr unsigned kPairs = 2100;
  for (unsigned i = 0; i < kPairs; ++i)
    for (const bool writes : {false, true}) done = std::max(done, dram.access(0, 64ULL * (i % 16), 4, writes));
  EXPECT_NEAR(done, 2 * kPairs * kBurst + kPairs / 21 * kTurns, kTurns);
}

/// The same for two rows of a bank: each is open for 21 columns.
TEST(Dram, WaitingRowsTakeTurnsOfTheControllersLimit) {
  constexpr unsigned kNumber = 4200;
  const double done = together(kNumber, false, [](unsigned i) { return kRow * (i % 2) + 256 * (i % 30); });
  EXPECT_NEAR(done, kNumber / 21 * (20 * 5 + 14.16 + 7.5 + 14.16), 200);
}

/// DDR4 of 8 Gbit: 350 ns in every 7.8 us, and the rows are closed before and opened after it.
TEST(Dram, RefreshTakesItsShare) {
  auto timing = kDdr4;
  timing.trefi = 7800;
  constexpr double kRefresh = 14.16 + 350 + 14.16;
  Dram stream(timing);
  double done = 0;
  for (std::uint64_t at = 0; at < 1 << 20; at += 1024) done = stream.access(0, at, 1024, false);
  const double moving = (1 << 20) / 19.2, refreshes = std::floor(moving / (7800 - kRefresh));
  EXPECT_EQ(refreshes, 7);
  EXPECT_NEAR(done, moving + refreshes * kRefresh, 1e-6);

  Dram seldom(timing);
  EXPECT_NEAR(seldom.access(1000, 0, 64, false), 1000 + kBurst, 1e-6);
  EXPECT_NEAR(seldom.access(7800 - kRefresh - kBurst, 0, 64, false), 7800 - kRefresh, 1e-6);
  EXPECT_NEAR(seldom.access(7800 - 100, 64, 64, false), 7800 + kBurst, 1e-6);  // requested during a refresh
  EXPECT_NEAR(seldom.access(78'000, 0, 64, false), 78'000 + kBurst, 1e-6);
}

/// Random loads take at least the time of the busiest resource, and little more.
TEST(Dram, RandomLoadsTakeTheBusiestResourcesTime) {
  const auto seed = test_seed();
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> rows(16);
  constexpr unsigned kNumber = 10'000;
  const double done = together(kNumber, false, [&](unsigned) {
    const auto address = random() % (std::uint64_t{8} << 30);
    ++rows[address / 64 % 4 * 4 + address / (4 * 8192) % 4];
    return address & ~std::uint64_t{3};
  });
  const double most = std::max(kNumber * 21.0 / 4, static_cast<double>(std::ranges::max(rows)) * (32 + 14.16));
  EXPECT_GE(done, most * 0.99);
  EXPECT_LE(done, most * 1.01 + 100);
}

TEST(Dram, SizesArePowersOfTwo) {
  auto timing = kDdr4;
  timing.row_bytes = 6000;
  EXPECT_THROW(Dram{timing}, std::invalid_argument);
  timing = kDdr4;
  timing.trp = -1;
  EXPECT_THROW(Dram{timing}, std::invalid_argument);
  timing = kDdr4;
  timing.trefi = timing.trfc = 100;
  EXPECT_THROW(Dram{timing}, std::invalid_argument);
}

}  // namespace
}  // namespace thalweg
