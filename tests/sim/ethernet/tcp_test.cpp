// SPDX-License-Identifier: Apache-2.0
// TCP: are segments those of Linux, does a stream arrive unchanged over a channel that loses, repeats, reorders and
// damages segments, and does each mechanism follow its RFC?
#include "ethernet/tcp.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "../../seed.hpp"
#include "ethernet/tcp_connection.hpp"

namespace thalweg::ethernet {
namespace {

std::vector<std::byte> octets(std::string_view hex) {
  std::vector<std::byte> made;
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (std::size_t k = 0; k + 1 < hex.size(); k += 2)
    made.push_back(static_cast<std::byte>(digit(hex[k]) << 4 | digit(hex[k + 1])));
  return made;
}

// Segments that Linux sends from 10.0.0.1 to 10.0.0.2, port 5500: a SYN with its options, and the acknowledgement that
// ends the handshake.
constexpr std::string_view kLinuxSyn =
    "020000000001020000000000080045"
    "00003c31d140004006f4e80a0000010a0000029909157c316d2ecb00000000a002fae80ee90000020423d80402080a82567af00000000001"
    "03030a";
constexpr std::string_view kLinuxAck =
    "0200000000010200000000000800450000283"
    "1d240004006f4fb0a0000010a0000029909157c316d2eccf854a4155010003ff0690000";

const UdpEnd kBoard{0x0200'0000'0000, 0x0A00'0001, 39'177}, kPeer{0x0200'0000'0001, 0x0A00'0002, 5'500};

TEST(TcpSegment, IsReadAsLinuxWritesIt) {
  Frames frames;
  const auto frame = frames.copy(octets(kLinuxSyn));
  const auto read = tcp_of(*frame);
  ASSERT_TRUE(read.has_value());
  EXPECT_TRUE(read->right);
  EXPECT_EQ(read->from, kBoard);
  EXPECT_EQ(read->to, kPeer);
  EXPECT_TRUE(read->heading.syn && !read->heading.ack && !read->heading.fin && !read->heading.rst);
  EXPECT_EQ(read->heading.sequence, 0x316D'2ECBU);
  EXPECT_EQ(read->heading.window, 64'232);
  EXPECT_EQ(read->heading.most, 9'176);
  EXPECT_EQ(read->heading.shift, 10);
}

TEST(TcpSegment, IsWhatLinuxSends) {
  Frames frames;
  const auto made =
      make_tcp(frames, kBoard, kPeer,
               {.sequence = 0x316D'2ECC, .acknowledgement = 0xF854'A415, .ack = true, .window = 63}, 0, [](auto) {});
  const auto theirs = octets(kLinuxAck);
  const auto from = kHeader + kIpv4Header;  // Linux counts its datagrams in IPv4's header
  EXPECT_TRUE(std::ranges::equal(made->bytes().subspan(from), std::span(theirs).subspan(from)));
}

TEST(TcpSegment, WithAnyBitChangedIsNotTaken) {
  Frames frames;
  for (const auto text : {kLinuxSyn, kLinuxAck}) {
    auto bytes = octets(text);
    for (std::size_t at = kHeader; at < bytes.size(); ++at)
      for (unsigned bit = 0; bit < 8; ++bit) {
        bytes[at] ^= static_cast<std::byte>(1U << bit);
        const auto read = tcp_of(*frames.copy(bytes));
        EXPECT_FALSE(read && read->right) << at << " " << bit;
        bytes[at] ^= static_cast<std::byte>(1U << bit);
      }
    for (std::size_t size = kHeader; size < bytes.size(); ++size)
      EXPECT_FALSE(tcp_of(*frames.copy(std::span(bytes).first(size))).has_value()) << size;
  }
}

TEST(TcpReorderBuffer, KeepsEachByteOnce) {
  std::mt19937_64 draw(test_seed());
  std::vector<std::byte> all(2000);
  for (auto& byte : all) byte = static_cast<std::byte>(draw());
  for (unsigned turn = 0; turn < 200; ++turn) {
    TcpReorderBuffer buffer;
    std::vector<std::byte> came;
    while (came.size() < all.size()) {
      const auto from = draw() % all.size();
      buffer.add(from, std::span(all).subspan(from, std::min(draw() % 300, all.size() - from)));
      buffer.take(came.size(),
                  [&](std::span<const std::byte> part) { came.insert(came.end(), part.begin(), part.end()); });
    }
    EXPECT_EQ(came, all);
    EXPECT_TRUE(buffer.empty());
  }
}

/// The channel's effect on a segment: the delay in cycles of each copy that arrives; and whether one of its bits is
/// flipped.
struct Treatment {
  std::vector<Tick> delays{100};
  bool damaged = false;
};

/// Two ends with a channel between them.
class Pair {
 public:
  struct End {
    TcpSendBuffer send;
    std::unique_ptr<TcpConnection> connection;
    std::vector<std::byte> came;
    std::uint64_t untaken = 0;
    Tick free = 0;
    std::vector<std::pair<Tick, TcpHeading>> said;
    unsigned wrong = 0;
  };

  Pair(const TcpConfig& one, const TcpConfig& other, std::uint32_t first = 77) {
    for (const unsigned k : {0U, 1U}) {
      const auto& config = k == 0 ? one : other;
      ends[k] =
          std::make_unique<End>(End{.send = TcpSendBuffer(config.window), .connection = {}, .came = {}, .said = {}});
      End& end = *ends[k];
      end.connection = std::make_unique<TcpConnection>(config, end.send, k == 0 ? kBoard : kPeer,
                                                       k == 0 ? kPeer : kBoard, first + k * 0x1234'5678, k == 0);
      end.connection->received = [&end](std::span<const std::byte> data) {
        end.came.insert(end.came.end(), data.begin(), data.end());
        end.untaken += data.size();
      };
    }
  }

  std::array<std::unique_ptr<End>, 2> ends;
  std::function<Treatment(unsigned from, const TcpSegment&)> treatment = [](unsigned, const TcpSegment&) {
    return Treatment{};
  };
  std::function<void(Tick)> user;  ///< called in each cycle with an event
  bool takes = true;               ///< received data are taken at once
  Tick now = 0;

  /// Runs until nothing moves or `until` returns true.
  void run(Tick most, const std::function<bool()>& until = [] { return false; }) {
    for (; now < most && !until();) {
      if (user) user(now);
      for (const unsigned k : {0U, 1U}) step(k);
      Tick next = way_.empty() ? kNever : way_.begin()->first;
      for (const auto& end : ends) {
        next = std::min(next, end->connection->acts_at());
        if (const Tick says = end->connection->says_at(now + 1); says != kNever)
          next = std::min(next, std::max(says, end->free));
      }
      if (user) next = std::min(next, now + 50);
      if (next == kNever) return;
      now = std::max(now + 1, next);
    }
  }
  [[nodiscard]] TcpConnection& operator[](unsigned k) { return *ends[k]->connection; }

 private:
  void step(unsigned k) {
    End& end = *ends[k];
    end.connection->run(now);
    while (!way_.empty() && way_.begin()->first <= now) {
      const auto [to, frame] = way_.begin()->second;
      way_.erase(way_.begin());
      const auto segment = tcp_of(*frame);
      if (!segment || !segment->right)
        ++ends[to]->wrong;
      else
        static_cast<void>((*this)[to].hear(*segment, now));
    }
    if (takes && end.untaken > 0) end.connection->take(std::exchange(end.untaken, 0), now);
    if (now < end.free) return;
    const auto says = end.connection->say(now);
    if (!says) return;
    end.said.emplace_back(now, says->heading);
    const auto frame = make_tcp(frames_, end.connection->own, end.connection->peer, says->heading, says->size,
                                [&](std::span<std::byte> data) { end.send.copy(says->offset, data); });
    end.free = now + 2 + static_cast<Tick>(says->size / 39);
    const auto becomes = treatment(k, *tcp_of(*frame));
    auto bytes = std::vector<std::byte>(frame->bytes().begin(), frame->bytes().end());
    if (becomes.damaged) bytes[kHeader + (++flipped_ * 7919) % (bytes.size() - kHeader)] ^= std::byte{4};
    for (const Tick delay : becomes.delays) way_.emplace(end.free + delay, std::pair{1 - k, frames_.copy(bytes)});
  }

  Frames frames_;
  std::multimap<Tick, std::pair<unsigned, FrameRef>> way_;
  std::size_t flipped_ = 0;
};

std::vector<std::byte> drawn(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 draw(seed);
  std::vector<std::byte> made(size);
  for (auto& byte : made) byte = static_cast<std::byte>(draw());
  return made;
}

/// Streams in both directions, with packets and windows of all sizes, given and taken at random times, from sequence
/// numbers that wrap around.
TEST(TcpConnection, StreamsComeAsTheyWereOverABadChannel) {
  std::mt19937_64 draw(test_seed());
  const auto below = [&](std::uint64_t most) { return draw() % most; };
  for (unsigned turn = 0; turn < 60; ++turn) {
    TcpConfig one{.segment = static_cast<unsigned>(88 + below(3000)),
                  .window = 4096 + below(200'000),
                  .scaling = below(2) == 0,
                  .resend = 2'000,
                  .delay = 500,
                  .tries = 60};
    if (!one.scaling) one.window = std::min<std::uint64_t>(one.window, 65'535);
    TcpConfig other = one;
    other.segment = static_cast<unsigned>(88 + below(3000));
    other.scaling = one.scaling && below(4) != 0;
    if (!other.scaling) other.window = std::min<std::uint64_t>(other.window, 65'535);
    Pair pair(one, other, static_cast<std::uint32_t>(0U - below(100'000)));
    const double bad = static_cast<double>(below(10)) / 100;
    const auto happens = [&](double share) { return std::uniform_real_distribution<>()(draw) < share; };
    pair.treatment = [&](unsigned, const TcpSegment&) {
      Treatment treatment{.delays = {static_cast<Tick>(100 + (happens(bad) ? below(1500) : 0))},
                          .damaged = happens(bad)};
      if (happens(bad)) treatment.delays.clear();
      if (happens(bad)) treatment.delays.push_back(static_cast<Tick>(50 + below(3000)));
      return treatment;
    };
    std::array<std::vector<std::byte>, 2> all{drawn(below(400'000), draw()), drawn(below(100'000), draw())};
    std::array<std::size_t, 2> given{0, 0};
    std::array<bool, 2> closed{false, false};
    pair.takes = false;
    Tick stuck = 0;
    pair.user = [&](Tick now) {
      if (now < stuck) return;
      if (below(200) == 0) stuck = now + static_cast<Tick>(below(20'000));  // takes nothing for a long time
      for (const unsigned k : {0U, 1U}) {
        auto& end = *pair.ends[k];
        while (given[k] < all[k].size() && end.send.room() > 4096 && below(4) != 0) {
          const auto size = std::min<std::size_t>(1 + below(4096), all[k].size() - given[k]);
          const auto part = std::span(all[k]).subspan(given[k], size);
          end.send.add({part.begin(), part.end()}, now + static_cast<Tick>(below(50)));
          given[k] += size;
          end.connection->more(now);
        }
        if (given[k] == all[k].size() && end.connection->state() >= TcpState::established &&
            !std::exchange(closed[k], true))
          end.connection->close();
        if (end.untaken > 0 && below(3) == 0) {
          const auto take = 1 + below(end.untaken);
          end.untaken -= take;
          end.connection->take(take, now);
        }
      }
    };
    pair.run(400'000'000, [&] {
      return pair.ends[1]->came.size() == all[0].size() && pair.ends[0]->came.size() == all[1].size() &&
             pair[0].state() >= TcpState::fin_wait_2 && pair[1].state() >= TcpState::fin_wait_2;
    });
    ASSERT_EQ(pair.ends[1]->came, all[0]) << turn;
    ASSERT_EQ(pair.ends[0]->came, all[1]) << turn;
    EXPECT_FALSE(pair[0].closing() && pair[0].state() == TcpState::silent);
    if (bad > 0.02 && all[0].size() > 200'000) {
      EXPECT_GT(pair[0].counts().resent, 0U);
      EXPECT_GT(pair.ends[0]->wrong + pair.ends[1]->wrong, 0U);
    }
  }
}

void give(Pair& pair, unsigned end, std::size_t bytes, std::size_t part = 1000) {
  for (; bytes > 0; bytes -= std::min(bytes, part)) pair.ends[end]->send.add(drawn(std::min(bytes, part), bytes), 0);
  pair[end].more(pair.now);
}

TEST(TcpConnection, OpensInThreeSegmentsAndClosesBothWays) {
  Pair pair({.segment = 1460, .window = 262'144, .scaling = true},
            {.segment = 8960, .window = 50'000, .scaling = true});
  pair.run(100'000);
  EXPECT_EQ(pair[0].state(), TcpState::established);
  EXPECT_EQ(pair[1].state(), TcpState::established);
  EXPECT_EQ(pair.ends[0]->said.size(), 2U);
  EXPECT_EQ(pair[1].segment(), 1460U);    // the smaller one
  EXPECT_EQ(pair[1].window(), 262'144U);  // by the acknowledgement, as windows of SYNs are not scaled
  EXPECT_EQ(pair[0].window(), 50'000U);
  pair[0].close();
  pair.run(200'000);
  EXPECT_EQ(pair[0].state(), TcpState::fin_wait_2);
  EXPECT_EQ(pair[1].state(), TcpState::close_wait);
  give(pair, 1, 5'000);  // the other direction is still open
  pair.run(300'000);
  EXPECT_EQ(pair.ends[0]->came.size(), 5'000U);
  pair[1].close();
  pair.run(400'000);
  EXPECT_EQ(pair[0].state(), TcpState::time_wait);
  EXPECT_EQ(pair[1].state(), TcpState::closed);
}

TEST(TcpConnection, BothOpenItAtOnce) {
  Pair pair({}, {});
  pair.ends[1]->connection = std::make_unique<TcpConnection>(TcpConfig{}, pair.ends[1]->send, kPeer, kBoard, 999, true);
  pair.run(100'000);
  EXPECT_EQ(pair[0].state(), TcpState::established);
  EXPECT_EQ(pair[1].state(), TcpState::established);
}

TEST(TcpConnection, ASilentPeerIsAskedAfterTimesThatDouble) {
  Pair pair({.resend = 1000, .most = 10'000, .tries = 6}, {});
  pair.treatment = [](unsigned, const TcpSegment&) { return Treatment{.delays = {}}; };
  pair.run(1'000'000);
  EXPECT_EQ(pair[0].state(), TcpState::silent);
  std::vector<Tick> gaps;
  const auto& said = pair.ends[0]->said;
  for (std::size_t k = 1; k < said.size(); ++k) gaps.push_back(said[k].first - said[k - 1].first);
  EXPECT_EQ(gaps, (std::vector<Tick>{1000, 2000, 4000, 8000, 10'000, 10'000}));  // RFC 6298, sections 5.5 and 2.5
  EXPECT_EQ(pair[0].acts_at(), kNever);
}

TEST(TcpConnection, BeginsWithTenSegments) {
  Pair pair({.segment = 1000, .window = 60'000}, {.segment = 1000, .window = 60'000});
  give(pair, 0, 50'000);
  unsigned early = 0;
  pair.treatment = [&](unsigned from, const TcpSegment& segment) {
    early += from == 0 && !segment.data.empty() && pair.now < 8'000;
    return Treatment{.delays = {2'000}};
  };
  pair.run(8'000);  // SYN, its answer, and data, which are not acknowledged yet
  EXPECT_EQ(early, 10U);
}

TEST(TcpConnection, OneLostSegmentIsSentAgainAfterThreeRepeatedAcknowledgements) {
  Pair pair({.segment = 1000, .window = 60'000, .resend = 50'000},
            {.segment = 1000, .window = 60'000, .resend = 50'000});
  give(pair, 0, 40'000);
  unsigned number = 0;
  pair.treatment = [&](unsigned from, const TcpSegment& segment) {
    if (from == 0 && !segment.data.empty() && ++number == 5) return Treatment{.delays = {}};
    return Treatment{.delays = {300}};
  };
  pair.run(1'000'000);
  EXPECT_EQ(pair.ends[1]->came.size(), 40'000U);
  EXPECT_EQ(pair[0].counts().fast, 1U);
  EXPECT_EQ(pair[0].counts().timeouts, 0U);
  EXPECT_EQ(pair[0].counts().resent, 1U);
}

TEST(TcpConnection, ThreeLostSegmentsOfAWindowTakeNoTimeOut) {  // NewReno's partial acknowledgements
  Pair pair({.segment = 1000, .window = 60'000, .resend = 50'000},
            {.segment = 1000, .window = 60'000, .resend = 50'000});
  give(pair, 0, 60'000);
  unsigned number = 0;
  pair.treatment = [&](unsigned from, const TcpSegment& segment) {
    if (from == 0 && !segment.data.empty()) {
      ++number;
      if (number == 15 || number == 17 || number == 20) return Treatment{.delays = {}};
    }
    return Treatment{.delays = {300}};
  };
  pair.run(1'000'000);
  EXPECT_EQ(pair.ends[1]->came.size(), 60'000U);
  EXPECT_EQ(pair[0].counts().timeouts, 0U);
  EXPECT_EQ(pair[0].counts().resent, 3U);
}

TEST(TcpConnection, EverySecondFullSegmentIsAcknowledgedAtOnceAndAnotherAfterTheDelay) {
  Pair pair({.segment = 1000, .window = 60'000}, {.segment = 1000, .window = 60'000, .delay = 700});
  pair.run(100'000);
  const auto before = pair.ends[1]->said.size();
  give(pair, 0, 3'000);
  const Tick begin = pair.now;
  pair.run(200'000);
  const auto& said = pair.ends[1]->said;
  ASSERT_EQ(said.size(), before + 2);
  EXPECT_LT(said[before].first - begin, 200);
  EXPECT_NEAR(static_cast<double>(said[before + 1].first - begin), 700 + 100 + 3 * 27, 30);
}

/// A receiver that takes nothing: no more arrives than its memory holds, its sender probes at doubling intervals, and
/// finally both are idle. When it takes, everything arrives, even if the window update is lost.
TEST(TcpConnection, AClosedWindowIsProbedAndOpens) {
  for (const unsigned lost : {0U, 1U, 3U}) {
    Pair pair({.segment = 1000, .window = 60'000, .resend = 1000, .tries = 5},
              {.segment = 1000, .window = 8'000, .resend = 1000, .tries = 5});
    pair.takes = false;
    give(pair, 0, 50'000);
    pair.run(100'000'000);
    EXPECT_LT(pair.now, 1'000'000);  // it becomes idle
    EXPECT_EQ(pair.ends[1]->came.size(), 8'000U);
    EXPECT_GT(pair[0].counts().probes, 3U);
    EXPECT_EQ(pair[0].state(), TcpState::established);
    pair.takes = true;
    unsigned left = lost;
    pair.treatment = [&](unsigned from, const TcpSegment&) {
      return from == 1 && left > 0 && left-- > 0 ? Treatment{.delays = {}} : Treatment{.delays = {100}};
    };
    pair.run(200'000'000);
    EXPECT_EQ(pair.ends[1]->came.size(), 50'000U) << lost;
  }
}

TEST(TcpConnection, AResetEndsItOnlyAtTheNextSequenceNumber) {  // RFC 5961
  Pair pair({}, {});
  pair.run(100'000);
  const std::uint32_t next = pair.ends[1]->said.back().second.sequence;
  const auto reset = [&](std::uint32_t sequence) {
    TcpSegment segment{.from = kPeer, .to = kBoard, .heading = {.sequence = sequence, .rst = true}, .data = {}};
    static_cast<void>(pair[0].hear(segment, pair.now));
  };
  for (const std::uint32_t ahead : {1'000U, 100'000U, ~0U}) reset(next + 1 + ahead);
  EXPECT_EQ(pair[0].state(), TcpState::established);
  reset(next + 1);
  EXPECT_EQ(pair[0].state(), TcpState::reset);
}

}  // namespace
}  // namespace thalweg::ethernet
