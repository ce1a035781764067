// SPDX-License-Identifier: Apache-2.0
// Does a hub's memory take the time of its DRAM, and answer reads with the data written before, in order? The expected
// values are closed forms of DDR3-1066.
#include "peach2/board_memory.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "../../dram.hpp"
#include "../../seed.hpp"
#include "memory/dram_values.hpp"

namespace thalweg::peach2 {
namespace {

constexpr double kPerNs = 0.15;  // cycles of the bus
BoardMemory::Config config(double trefi_ns = 0) {
  auto ddr3 = ddr3_1066();
  ddr3.insert_or_assign("dram_trefi_ns", trefi_ns);
  return {.commands = 8, .bank = {.latency = 17, .dram = dram_of(Values("memory", ddr3), 8.528, kPerNs * 1e9)}};
}
BusBeat beat(std::uint64_t address, bool write = false, std::uint64_t value = 0) {
  BusBeat made{};
  made.write = write;
  made.address = address / 16;
  made.enable = 0xFFFF;
  made.data = {value, ~value};
  return made;
}

/// Offers the beats as fast as they are accepted. Returns the cycle of the last reply, or that of the last accepted
/// beat.
Tick run(BoardMemory& memory, const std::vector<BusBeat>& beats) {
  std::size_t next = 0;
  for (Tick cycle = 0;; ++cycle) {
    if (memory.step(cycle, next < beats.size() ? &beats[next] : nullptr) && next < beats.size()) ++next;
    if (next == beats.size() && memory.idle()) return cycle;
  }
}

TEST(BoardMemory, AReadThatWaitsForNothingTakesItsLatency) {
  BoardMemory memory(config(), "m");
  EXPECT_EQ(run(memory, {beat(64)}), 17);
}

/// The DRAM is faster than the bus, and the controller queues enough commands to bridge a refresh.
TEST(BoardMemory, AStreamMovesABeatACycle) {
  constexpr unsigned kBeats = 50'000;
  std::vector<BusBeat> beats;
  for (unsigned i = 0; i < kBeats; ++i) beats.push_back(beat(16ULL * i));
  BoardMemory memory(config(), "m");
  const Tick plain = run(memory, beats);
  EXPECT_NEAR(static_cast<double>(plain), kBeats - 1 + 17, 2);  // the opening of rows
  BoardMemory refreshed(config(7800), "m");
  EXPECT_NEAR(static_cast<double>(run(refreshed, beats)), static_cast<double>(plain), (110 + 2 * 13.125) * kPerNs + 1);
}

TEST(BoardMemory, AReadInARefreshWaits) {
  BoardMemory memory(config(7800), "m");
  constexpr Tick kPeriod = 1170;  // 7.8 us
  for (const Tick asked : {kPeriod - 30, kPeriod - 10}) {
    const auto read = beat(64);
    ASSERT_TRUE(memory.step(asked, &read));
    Tick cycle = asked;
    while (!memory.idle()) memory.step(++cycle, nullptr);
    EXPECT_EQ(cycle, 17 + (asked == kPeriod - 30 ? asked : kPeriod));
  }
}

TEST(BoardMemory, RowsOfOneBankTakeItsCycle) {
  std::vector<BusBeat> beats;
  for (unsigned i = 0; i < 200; ++i) beats.push_back(beat(std::uint64_t{8 * 8192} * i));
  BoardMemory memory(config(), "m");
  EXPECT_NEAR(static_cast<double>(run(memory, beats)), 17 + 199 * (37.5 + 13.125) * kPerNs, 2);
}

/// Reads and writes of few addresses, in random order: each read returns the data written before it.
TEST(BoardMemory, RepliesAreInOrderAndOfWhatWasWritten) {
  std::mt19937_64 random(test_seed());
  BoardMemory memory(config(7800), "m");
  std::map<std::uint64_t, std::uint64_t> written;
  std::vector<std::uint64_t> expected;
  std::size_t replies = 0;
  BusBeat shown = beat(0, true, 1);
  for (Tick cycle = 0; cycle < 20'000 || !memory.idle(); ++cycle) {
    const bool shows = cycle < 20'000;
    const bool taken = memory.step(cycle, shows ? &shown : nullptr);
    if (const auto* reply = memory.reply()) {
      ASSERT_LT(replies, expected.size());
      EXPECT_EQ((*reply)[0], expected[replies++]);
    }
    if (!shows || !taken) continue;
    if (shown.write)
      written[shown.address] = shown.data[0];
    else
      expected.push_back(written[shown.address]);
    shown = beat(random() % 64 * 16 + random() % 4 * 65536, random() % 2 == 0, random());
  }
  EXPECT_EQ(replies, expected.size());
  EXPECT_GT(replies, 1000u);
}

}  // namespace
}  // namespace thalweg::peach2
