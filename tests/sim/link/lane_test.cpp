// SPDX-License-Identifier: Apache-2.0
// Does a lane keep its latency, its rate and its credits, and wake its ends in time? The expected values are closed
// forms.
#include "link/lane.hpp"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace thalweg {
namespace {

/// Writes numbers as fast as the lane accepts them, and sleeps otherwise.
struct Writer : Component {
  explicit Writer(CreditedLane<int>& lane, int words) : to(lane), left(words) {}
  bool step(Tick now) override {
    if (left == 0 || !to.ready(now)) return false;
    to.write(now, static_cast<int>(at.size()));
    at.push_back(now);
    return --left > 0;
  }
  CreditedLane<int>& to;
  int left;
  std::vector<Tick> at;
};

/// Takes each word `slow` cycles after its arrival, or after the previous one.
struct Reader : Component {
  Reader(CreditedLane<int>& lane, Tick cycles) : from(lane), slow(cycles) {}
  bool step(Tick now) override {
    const int* word = from.front(now);
    if (!word) return waited = 0, false;
    if (waited++ < slow) return true;
    EXPECT_EQ(*word, static_cast<int>(at.size()));
    at.push_back(now);
    waited = 0;
    from.pop(now);
    return true;
  }
  CreditedLane<int>& from;
  Tick slow, waited = 0;
  std::vector<Tick> at;
};

struct Link {
  Link(const CreditedLane<int>::Config& config, int words, Tick slow = 0)
      : lane(config), writer(lane, words), reader(lane, slow) {
    const auto writes = clock.scheduler.add(writer), reads = clock.scheduler.add(reader);
    lane.bind_writer(clock, writes);
    lane.bind_reader(clock, reads);
    clock.wake(writes, 0);
  }
  void run() {
    while (time.next_due() != kNever) time.advance(time.next_due() + 1);
  }
  Domains time;
  Domain& clock = time.add({});
  CreditedLane<int> lane;
  Writer writer;
  Reader reader;
};

TEST(Lane, AWordArrivesALatencyLater) {
  Link link({.latency = 7, .buffer = 100}, 50);
  link.run();
  ASSERT_EQ(link.reader.at.size(), 50u);
  for (Tick i = 0; i < 50; ++i) {
    EXPECT_EQ(link.writer.at[static_cast<std::size_t>(i)], i);
    EXPECT_EQ(link.reader.at[static_cast<std::size_t>(i)], i + 7);
  }
}

/// Packets of 32 bytes on a link of 40 Gb/s at 259.6 MHz are 3125 in 5192 cycles, without drift; a slow link's credits
/// return long before its next word.
TEST(Lane, ItsRateIsExact) {
  for (const auto& [flits, cycles, rate] :
       {std::tuple{Tick{3125}, Tick{5192}, RateLimit::of(40'000'000'000, 256 * Tick{259'600'000})},
        {Tick{2}, Tick{25}, RateLimit::of(2, 25)}}) {
    Link link({.latency = 1, .rate = rate, .buffer = 8}, 20'000);
    link.run();
    ASSERT_EQ(link.writer.at.size(), 20'000u);
    for (Tick n = 0; n < 20'000; ++n) ASSERT_EQ(link.writer.at[static_cast<std::size_t>(n)], n * cycles / flits) << n;
  }
}

/// `buffer` words per round trip, or the reader's rate if it is slow.
TEST(Lane, CreditsHoldItsWriterBack) {
  constexpr Tick kLatency = 10;
  Link link({.latency = kLatency, .buffer = 4}, 400);
  link.run();
  for (std::size_t i = 0; i < 400; ++i)
    ASSERT_EQ(link.writer.at[i], static_cast<Tick>(i / 4) * 2 * kLatency + static_cast<Tick>(i % 4));
  Link slow({.latency = 2, .buffer = 4}, 400, 8);
  slow.run();
  ASSERT_EQ(slow.reader.at.size(), 400u);
  for (std::size_t i = 0; i < 400; ++i) ASSERT_EQ(slow.reader.at[i], 2 + 8 + static_cast<Tick>(i) * 9);
}

TEST(RateLimit, OfAnyFiguresNeverOverflowsAndIsNoFasterThanOneACycle) {
  for (const auto& [flits, cycles] : {std::pair<Tick, Tick>{1, Tick{1} << 60}, {(Tick{1} << 60) - 1, Tick{1} << 60}}) {
    auto rate = RateLimit::of(flits, cycles);
    for (const Tick now : {Tick{0}, Tick{1} << 40, Tick{1} << 55}) {
      ASSERT_TRUE(rate.ready(now));
      rate.send(now);
      EXPECT_FALSE(rate.ready(now));
      EXPECT_GT(rate.next(now), now);
      EXPECT_TRUE(rate.ready(rate.next(now)));
      EXPECT_FALSE(rate.ready(rate.next(now) - 1));
    }
  }
  EXPECT_FALSE(RateLimit::of(7, 3).limits());
}

}  // namespace
}  // namespace thalweg
