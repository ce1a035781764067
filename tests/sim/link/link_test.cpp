// SPDX-License-Identifier: Apache-2.0
// Flow control, buffers behind wires, and the rate of a link.
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "../../seed.hpp"
#include "link/buffer.hpp"
#include "link/flow.hpp"
#include "link/rate.hpp"

namespace thalweg {
namespace {

TEST(Flow, CreditsAreTakenAndReturned) {
  FlowSender sender(FlowControl::credits, 3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(sender.ready());
    sender.send();
  }
  EXPECT_FALSE(sender.ready());
  sender.event();
  EXPECT_TRUE(sender.ready());
  FlowReceiver receiver(FlowControl::credits, 3, 0);
  receiver.push();
  EXPECT_FALSE(receiver.update(false));
  receiver.pop();
  EXPECT_TRUE(receiver.update(true));
}

TEST(Flow, StopIsSentWhenFreeSpaceFallsToTheMargin) {
  FlowReceiver receiver(FlowControl::margin, 8, 3);
  for (int held = 1; held <= 8; ++held) {
    receiver.push();
    EXPECT_EQ(receiver.update(false), held == 5) << held;
  }
  EXPECT_TRUE(receiver.full());
  for (int held = 7; held >= 0; --held) {
    receiver.pop();
    EXPECT_EQ(receiver.update(true), held == 4) << held;
  }
  FlowSender sender(FlowControl::margin, 8);
  for (int i = 0; i < 100; ++i) sender.send();
  EXPECT_TRUE(sender.ready());
  sender.event();
  EXPECT_FALSE(sender.ready());
  sender.event();
  EXPECT_TRUE(sender.ready());
}

// Random arrivals and departures on several channels, compared with a deque of (tick, value) each.
template <class T>
class Buffers : public ::testing::Test {};
using Widths = ::testing::Types<FlitOf<256>, FlitOf<512>>;
TYPED_TEST_SUITE(Buffers, Widths, );

TYPED_TEST(Buffers, AreQueuesThatShowWhatHasArrived) {
  constexpr std::size_t kLast = std::tuple_size_v<decltype(TypeParam::data)> - 1;
  const auto seed = test_seed();
  std::mt19937_64 random(seed);
  constexpr unsigned kChannels = 5, kDepth = 6;
  constexpr Tick kLatency = 3;
  BuffersOf<TypeParam> buffers;
  for (unsigned channel = 0; channel < kChannels; ++channel) buffers.set_depth(channel, kDepth);
  std::array<std::deque<std::pair<Tick, std::uint64_t>>, kChannels> expected;
  for (Tick now = 0; now < 20'000; ++now) {
    const auto in = static_cast<unsigned>(random() % kChannels), out = static_cast<unsigned>(random() % kChannels);
    if (expected[in].size() < kDepth) {
      const auto value = random();
      buffers.append(in, now + kLatency).data[kLast] = value;
      expected[in].emplace_back(now + kLatency, value);
    } else {
      EXPECT_THROW(buffers.append(in, now + kLatency), std::logic_error);
    }
    auto& queue = expected[out];
    if (queue.empty() || queue.front().first > now) continue;
    EXPECT_EQ(buffers.front(out).data[kLast], queue.front().second);
    queue.pop_front();
    EXPECT_EQ(buffers.pop(out, now), !queue.empty() && queue.front().first <= now);
  }
}

// A sender with a backlog reaches the rate exactly, and never exceeds it in any window.
TEST(RateLimit, IsKeptInEveryWindowAndReached) {
  for (const auto& [flits, cycles] : {std::pair{1u, 1u}, {1u, 2u}, {2u, 3u}, {3u, 7u}, {95u, 128u}}) {
    RateLimit rate(flits, cycles);
    std::vector<Tick> sent;
    for (Tick now = 0; now < 100 * cycles; ++now)
      if (rate.ready(now)) {
        rate.send(now);
        sent.push_back(now);
      }
    for (std::size_t i = flits; i < sent.size(); ++i) EXPECT_GE(sent[i] - sent[i - flits], cycles);
    EXPECT_GE(sent.size(), 100u * flits);
    EXPECT_LE(sent.size(), 100u * flits + 1);
  }
}

}  // namespace
}  // namespace thalweg
