// SPDX-License-Identifier: Apache-2.0
// Two ends of a link over a wire that loses, repeats and pauses: every word arrives once and in order.
#include "link/replay.hpp"

#include <gtest/gtest.h>

#include <random>

#include "lossy_link.hpp"

namespace thalweg {
namespace {

using blocks::Fault, blocks::FaultyWire;
using Frame = ReplayFrame<std::uint64_t>;

constexpr unsigned kDownCycles = 50;

/// Two ends, A and B. A word is its own number, so that the receiver knows the next one.
struct Pair {
  Replay<std::uint64_t> a, b;
  FaultyWire<Frame> to_b, to_a;
  std::uint64_t given = 0, got = 0, given_back = 0, got_back = 0;

  Pair(unsigned window, std::size_t latency)
      : a(window, 0, kDownCycles), b(window, 0, kDownCycles), to_b(latency), to_a(latency) {}

  void cycle(bool send, bool send_back, Fault fault, Fault fault_back) {
    check(b.received(), got);
    check(a.received(), got_back);
    const auto at_b = to_b.step(a.frame(), fault), at_a = to_a.step(b.frame(), fault_back);
    send = send && a.ready();
    send_back = send_back && b.ready();
    a.step(send ? &given : nullptr, true, at_a ? &*at_a : nullptr);
    b.step(send_back ? &given_back : nullptr, true, at_b ? &*at_b : nullptr);
    given += send;
    given_back += send_back;
  }

 private:
  static void check(const std::uint64_t* word, std::uint64_t& got) {
    if (!word) return;
    EXPECT_EQ(*word, got);
    ++got;
  }
};

Fault draw(std::mt19937_64& random, unsigned permille) {
  constexpr Fault kFaults[] = {Fault::loss, Fault::repetition, Fault::pause};
  return random() % 1000 < permille ? kFaults[random() % 3] : Fault::none;
}

// Also when words stop arriving while frames still get lost: the last word needs no word after it.
TEST(Replay, DeliversOnceAndInOrder) {
  std::mt19937_64 random(test_seed());
  std::uint64_t words = 0;
  for (int run = 0; run < 200; ++run) {
    const unsigned window = 2u << random() % 7, faults = random() % 2 ? 20 : 400;
    Pair pair(window, 1 + random() % 12);
    const auto load = 1 + random() % 1000, load_back = 1 + random() % 1000;
    for (int t = 0; t < 2000; ++t)
      pair.cycle(random() % 1000 < load, random() % 1000 < load_back, draw(random, faults), draw(random, faults));
    for (int t = 0; t < 100'000 && (pair.got < pair.given || pair.got_back < pair.given_back); ++t)
      pair.cycle(false, false, draw(random, faults), draw(random, faults));
    EXPECT_EQ(pair.got, pair.given) << "run " << run;
    EXPECT_EQ(pair.got_back, pair.given_back) << "run " << run;
    words += pair.got;
  }
  EXPECT_GT(words, 0u);  // a single run may have none
}

// A word's entry is free for the next one a round trip later: the latency in both directions, four cycles in the two
// ends, and one more until ready is set.
TEST(Replay, SendsAWordACycleWithAWindowOfARoundTrip) {
  for (const unsigned window : {8u, 16u, 128u}) {
    const std::size_t latency = (window - 6) / 2;
    Pair enough(window, latency), short_of(window, latency + 1);
    for (int t = 0; t < 2000; ++t) {
      enough.cycle(true, false, Fault::none, Fault::none);
      short_of.cycle(true, false, Fault::none, Fault::none);
    }
    EXPECT_EQ(enough.given, 2000u);
    EXPECT_LT(short_of.given, 2000u);
  }
}

TEST(Replay, SaysWhenTheLinkIsDownAndGoesOnWhereItWas) {
  Pair pair(32, 5);
  EXPECT_FALSE(pair.b.up());
  for (int t = 0; t < 6; ++t) pair.cycle(true, true, Fault::none, Fault::none);
  EXPECT_TRUE(pair.b.up());
  for (int t = 0; t < 200; ++t) pair.cycle(true, true, Fault::none, Fault::none);
  for (unsigned t = 0; t < kDownCycles; ++t) {
    EXPECT_TRUE(pair.b.up());
    pair.cycle(true, true, Fault::loss, Fault::none);
  }
  EXPECT_FALSE(pair.b.up());
  EXPECT_TRUE(pair.a.up());
  for (int t = 0; t < 1000; ++t) pair.cycle(true, true, Fault::loss, Fault::loss);
  EXPECT_FALSE(pair.a.ready());
  EXPECT_FALSE(pair.a.up());
  for (int t = 0; t < 1000; ++t) pair.cycle(t < 900, t < 900, Fault::none, Fault::none);
  EXPECT_TRUE(pair.b.up());
  EXPECT_EQ(pair.got, pair.given);
  EXPECT_EQ(pair.got_back, pair.given_back);
  EXPECT_GT(pair.got, 1000u);
}

TEST(Replay, RefusesWhatItCannotBe) {
  EXPECT_THROW(Replay<int>(12, 0, 1), std::invalid_argument);
  EXPECT_THROW(Replay<int>(8, 8, 1), std::invalid_argument);
  EXPECT_THROW(Replay<int>(8, 0, 0), std::invalid_argument);
  Replay<int> replay(2, 0, 1);
  const int word = 0;
  for (int i = 0; i < 2; ++i) replay.step(&word, true, nullptr);
  EXPECT_FALSE(replay.ready());
  EXPECT_THROW(replay.step(&word, true, nullptr), std::logic_error);
}

}  // namespace
}  // namespace thalweg
