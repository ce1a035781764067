// SPDX-License-Identifier: Apache-2.0
// A whole link under faults: goodput against its closed form, latencies, and recovery of flow control.
#include "lossy_link.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "port.hpp"

namespace thalweg {
namespace {

using blocks::Fault;

// docs/links.md derives both.
constexpr unsigned round_trip(unsigned latency) {
  return 2 * latency + 8;
}
constexpr unsigned window_for(unsigned latency) {
  return 2 * latency + 9;
}

/// Stop by margin: the number of flits that can arrive after the one that sets the stop bit.
constexpr unsigned margin_for(unsigned window) {
  return window - 1;
}

/// Number of words that end 0 delivers to end 1 in `cycles`, at the highest rate. Each word is its own number, which is
/// checked.
std::uint64_t delivered(LossyLink& link, std::uint64_t cycles, Fault fault = Fault::none, std::uint64_t at = 0) {
  std::uint64_t given = 0, got = 0;
  for (std::uint64_t t = 0; t < cycles; ++t) {
    if (const LinkWord* word = link.ends[1].received()) {
      if ((*word)[0] != got) ADD_FAILURE() << "word " << (*word)[0] << " in place of " << got;
      ++got;
    }
    const LinkWord word{given};
    const bool ready = link.ends[0].ready();
    link.cycle({ready ? &word : nullptr, nullptr}, {}, {Fault::none, t == at ? fault : Fault::none});
    given += ready;
  }
  return got;
}

// Without errors a link with the window of its round trip delivers a word per cycle. A word comes out six cycles later
// than from the wire alone, which shows in cycle t + latency - 1 the word given in t. A lost frame costs itself and the
// frames of a round trip.
TEST(LossyLink, LosesOneRoundTripWithAFrame) {
  for (const unsigned latency : {1u, 2u, 11u, 110u}) {
    const unsigned window = std::bit_ceil(window_for(latency) + 8);
    const FrameFormat format{.sequence_bits = static_cast<unsigned>(std::bit_width(window))};
    LossyLink whole(format, window, latency, 0, 0), hurt(format, window, latency, 0, 0);
    const auto all = delivered(whole, 3000);
    EXPECT_EQ(all, 3000 - (latency - 1 + 6));
    EXPECT_EQ(all - delivered(hurt, 3000, Fault::loss, 1000), 1 + round_trip(latency));
  }
}

// The smallest window without lost cycles is that of window_for, if it were a power of two.
TEST(LossyLink, NeedsAWindowOfARoundTrip) {
  for (const unsigned window : {16u, 64u, 256u}) {
    const unsigned latency = (window - window_for(0)) / 2;
    const FrameFormat format{.sequence_bits = static_cast<unsigned>(std::bit_width(window))};
    LossyLink enough(format, window, latency, 0, 0), short_of(format, window, latency + 1, 0, 0);
    EXPECT_EQ(delivered(enough, 3000), 3000 - (latency - 1 + 6));
    EXPECT_LT(delivered(short_of, 3000), 3000 - (latency + 6));
  }
}

// Without errors a link is three wires of constant latency, except that credits wait for their channel's turn, and come
// out one per cycle. From the wires of one port to those of the other.
TEST(LossyLink, IsADelayWithoutErrors) {
  const auto seed = test_seed();
  std::mt19937_64 random(seed);
  for (int run = 0; run < 60; ++run) {
    const auto latency = 1 + static_cast<unsigned>(random() % 20), vcs = 1 + static_cast<unsigned>(random() % 6);
    const auto flow = run % 2 ? FlowControl::margin : FlowControl::credits;
    LossyLink link({.sequence_bits = 7, .vcs = vcs, .flow = flow, .count_bits = 6}, 64, latency, 0, 0);
    const std::uint32_t all = (1u << vcs) - 1;
    const unsigned load = static_cast<unsigned>(random() % 101), back_load = static_cast<unsigned>(random() % 101);
    constexpr unsigned kCycles = 500;
    std::array<std::optional<LinkWord>, kCycles + 100> words;
    std::array<std::uint32_t, kCycles + 100> backs;
    backs.fill(flow == FlowControl::margin ? all : 0);
    std::array<unsigned, ReplayCodec::kMaxVcs> last{};
    for (unsigned t = 0; t < kCycles; ++t) {
      if (const LinkWord* word = link.ends[1].received()) {
        EXPECT_EQ(*word, words[t]) << t;
      } else {
        EXPECT_FALSE(words[t]) << t;
      }
      EXPECT_EQ(link.ends[0].back(), backs[t]) << t;
      const LinkWord word{random(), t};
      const bool send = random() % 100 < load;
      std::uint32_t back = 0;
      for (unsigned vc = 0; vc < vcs; ++vc) back |= std::uint32_t{random() % 100 < back_load} << vc;
      if (send) words[t + latency + 5] = word;
      if (flow == FlowControl::margin) {
        backs[t + latency + 2] = back;
      } else {
        each_bit(back, [&](unsigned vc) {
          const unsigned turn = (vc + vcs - (t + 1) % vcs) % vcs;
          last[vc] = std::max(last[vc] + 1, t + latency + 4 + turn);
          backs[last[vc]] |= 1u << vc;
        });
      }
      link.cycle({send ? &word : nullptr, nullptr}, {0, back});
    }
  }
}

// The share of cycles that deliver a word is (1 - p) / (1 + p a), with p the share of damaged frames and a the frames
// of a round trip. Both directions have the same bit error rate.
TEST(LossyLink, HasTheGoodputOfGoBackN) {
  const auto seed = test_seed();
  struct Case {
    double rate;
    unsigned latency;
    std::uint64_t cycles;
  };
  for (const auto& [rate, latency, cycles] : {Case{1e-4, 1, 1'000'000},
                                              {1e-4, 4, 1'000'000},
                                              {1e-5, 20, 1'000'000},
                                              {1e-6, 40, 1'000'000},
                                              {1e-7, 110, 600'000},
                                              {1e-8, 110, 300'000}}) {
    const unsigned window = std::bit_ceil(window_for(latency) + 8);
    const FrameFormat format{.sequence_bits = static_cast<unsigned>(std::bit_width(window))};
    LossyLink link(format, window, latency, rate, seed);
    const double goodput = static_cast<double>(delivered(link, cycles)) / static_cast<double>(cycles);
    const double p = 1 - std::pow(1 - rate, format.frame_bits());
    const double expected = (1 - p) / (1 + p * round_trip(latency));
    std::printf("bit error rate %g, latency %u: p %.3g, goodput %.5f, expected %.5f, %+.3f %%\n", rate, latency, p,
                goodput, expected, 100 * (goodput / expected - 1));
    EXPECT_NEAR(goodput / expected, 1, 0.01) << "bit error rate " << rate << ", latency " << latency;
  }
}

// A sender fills its window while nothing arrives, and all of it arrives after the flit that sets the stop bit.
TEST(LossyLink, StopNeedsAMarginOfTheWindow) {
  constexpr unsigned kLatency = 5, kStopAt = 40, kLong = 1000;
  for (const unsigned window : {16u, 32u, 64u}) {
    const FrameFormat format{
        .sequence_bits = static_cast<unsigned>(std::bit_width(window)), .vcs = Port::kVcs, .flow = FlowControl::margin};
    std::uint64_t most = 0;
    for (unsigned from = 0; from < 80; ++from) {
      LossyLink link(format, window, kLatency, 0, 0, Port::kSlack);
      std::array ports{Port(FlowControl::margin, kLong + kStopAt, kLong),
                       Port(FlowControl::margin, kLong + kStopAt, kLong)};
      for (unsigned t = 0; t < 600; ++t) {
        const LinkWord* word = ports[0].output(link.ends[0], true, 0);
        const std::array back{ports[0].back(), ports[1].back()};
        for (unsigned i = 0; i < 2; ++i) ports[i].step(link.ends[i], 0);
        link.cycle({word, nullptr}, back, {Fault::none, t >= from && t < from + 100 ? Fault::loss : Fault::none});
      }
      most = std::max(most, ports[1].arrived() - kStopAt);
    }
    EXPECT_EQ(most, margin_for(window));
  }
}

// Bit errors, losses, repetitions, pauses and silence: buffers never overflow, nothing is lost, and in the end every
// credit is back and nothing is stopped.
TEST(LossyLink, FlowControlHeals) {
  const auto seed = test_seed();
  std::mt19937_64 random(seed);
  for (int run = 0; run < 40; ++run) {
    const auto flow = run % 2 ? FlowControl::margin : FlowControl::credits;
    const unsigned latency = 1 + static_cast<unsigned>(random() % 20), window = 8u << random() % 4;
    const unsigned margin = margin_for(window);
    const unsigned depth = flow == FlowControl::margin ? margin + 1 + static_cast<unsigned>(random() % 8)
                                                       : 1 + static_cast<unsigned>(random() % 15);
    const FrameFormat format{
        .sequence_bits = static_cast<unsigned>(std::bit_width(window)), .vcs = Port::kVcs, .flow = flow};
    LossyLink link(format, window, latency, random() % 2 ? 1e-4 : 1e-3, random(), Port::kSlack);
    std::array ports{Port(flow, depth, margin), Port(flow, depth, margin)};
    const auto load = 1 + random() % 100, drain = 1 + random() % 100, faults = random() % 10;
    std::uint64_t silence = 0;
    const auto cycle = [&](bool busy) {
      std::array<const LinkWord*, 2> words;
      std::array<Fault, 2> of_frames{};
      for (unsigned i = 0; i < 2; ++i)
        words[i] =
            ports[i].output(link.ends[i], busy && random() % 100 < load, static_cast<unsigned>(random() % Port::kVcs));
      if (busy && random() % 1000 == 0) silence = random() % 200;
      constexpr Fault kFaults[] = {Fault::loss, Fault::repetition, Fault::pause};
      for (Fault& fault : of_frames)
        if (silence || (busy && random() % 100 < faults)) fault = silence ? Fault::loss : kFaults[random() % 3];
      silence -= silence > 0;
      const std::array back{ports[0].back(), ports[1].back()};
      for (unsigned i = 0; i < 2; ++i) {
        std::uint32_t leaving = 0;
        for (unsigned vc = 0; vc < Port::kVcs; ++vc) leaving |= std::uint32_t{!busy || random() % 100 < drain} << vc;
        ports[i].step(link.ends[i], leaving);
      }
      link.cycle(words, back, of_frames);
    };
    for (int t = 0; t < 3000; ++t) cycle(true);
    const auto arrived = [&] { return ports[1].arrived() == ports[0].sent() && ports[0].arrived() == ports[1].sent(); };
    for (int t = 0; t < 100'000 && !arrived(); ++t) cycle(false);
    for (int t = 0; t < 1000; ++t) cycle(false);  // credits arrive after the flits
    EXPECT_TRUE(arrived()) << "run " << run;
    for (unsigned i = 0; i < 2; ++i) {
      EXPECT_GT(ports[i].sent(), 0u);
      for (unsigned vc = 0; flow == FlowControl::credits && vc < Port::kVcs; ++vc)
        EXPECT_EQ(ports[i].credits(vc), depth);
    }
  }
}

}  // namespace
}  // namespace thalweg
