// SPDX-License-Identifier: Apache-2.0
// Do frames that leave the simulation by a line reach its end when all their bytes have, and do frames from outside
// enter it in order?
#include "ethernet/outside.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "ethernet/nic.hpp"

namespace thalweg::ethernet {
namespace {

constexpr Tick kPeriod = 2;  // of the MAC in ticks
const Rate kLine = Rate::of(100, kPeriod, kPeriod* Tick{322'265'625});

class Outsides : public ::testing::Test {
 protected:
  Outsides() {
    nic.receive = [this](Tick now, const Arrival& arrival, Units) {
      came.emplace_back(now, arrival.frame->bytes().begin(), arrival.frame->bytes().end());
    };
  }
  struct Came {
    Came(Tick at, auto begin, auto end) : now(at), bytes(begin, end) {}
    Tick now;
    std::vector<std::byte> bytes;
  };
  static std::vector<std::byte> frame_of(std::size_t size, std::uint8_t value) {
    std::vector<std::byte> bytes(size, static_cast<std::byte>(value));
    bytes[0] = std::byte{0xFF};  // broadcast
    return bytes;
  }
  /// The cycle in which the FCS of a frame that begins in cycle `begin` has arrived.
  static Tick end_of(Tick begin, unsigned size) {
    return kLine.seen(begin * kLine.cycle + kLine.bytes(wire_bytes(size) - kGap)) + kLatency;
  }

  static constexpr Tick kLatency = 50;  // cycles
  Frames frames;
  Domains time;
  Domain& mac = time.add({.period = kPeriod});
  Nic nic{1, mac};
  Outside outside{mac, frames};
  Line::Config line{.rate = kLine, .latency = kLatency * kLine.cycle};
  Line::Config bad{.rate = kLine, .latency = line.latency, .faults = {.bit_error_rate = 1e-3}};
  std::vector<Came> came;
};

TEST_F(Outsides, FramesLeaveWhenTheirFcsHas) {
  Cable cable(line, line, dynamic_cast<Port&>(nic.port(0)), dynamic_cast<Port&>(outside.port(0)));
  nic.send(100 * kLine.cycle, frames.copy(frame_of(9170, 7)));
  time.advance(end_of(100, 9170) * kPeriod);
  EXPECT_TRUE(outside.left.empty());
  time.advance(time.now() + 1);
  ASSERT_EQ(outside.left.size(), 1u);
  const auto bytes = outside.left.front()->bytes();
  EXPECT_EQ(std::vector(bytes.begin(), bytes.end()), frame_of(9170, 7));
}

TEST_F(Outsides, FramesEnterAtTheTimeThatIsReachedOneBehindAnother) {
  Cable cable(line, line, dynamic_cast<Port&>(nic.port(0)), dynamic_cast<Port&>(outside.port(0)));
  time.advance(1001);  // in the middle of cycle 500, so that 501 is the next one
  EXPECT_TRUE(outside.has_time(1001));
  outside.give(frame_of(9170, 1));
  EXPECT_FALSE(outside.has_time(1001 + 400));
  EXPECT_TRUE(outside.has_time(1001 + 500));  // 9,194 bytes take 237 cycles
  outside.give(frame_of(42, 2));              // shorter than Ethernet's minimum, as its network sent it
  time.advance(10'000);
  ASSERT_EQ(came.size(), 2u);
  EXPECT_EQ(came[0].now, end_of(501, 9170));
  EXPECT_EQ(came[1].now,
            kLine.seen(501 * kLine.cycle + kLine.bytes(wire_bytes(9170) + wire_bytes(42) - kGap)) + kLatency);
  EXPECT_EQ(came[0].bytes, frame_of(9170, 1));
  EXPECT_EQ(came[1].bytes, frame_of(42, 2));
  EXPECT_THROW(outside.give(frame_of(13, 1)), std::invalid_argument);
  EXPECT_THROW(outside.give(frame_of(kMost + 1, 1)), std::invalid_argument);
}

TEST_F(Outsides, DamagedFramesDoNotLeaveAndAreCounted) {
  Cable cable(bad, bad, dynamic_cast<Port&>(nic.port(0)), dynamic_cast<Port&>(outside.port(0)));
  for (int k = 0; k < 5; ++k) nic.send(0, frames.copy(frame_of(9170, 7)));
  time.advance(10'000);
  EXPECT_TRUE(outside.left.empty());
  std::vector<Lost> lost;
  outside.lost(3, lost);
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].count, 5u);
  EXPECT_EQ(frames.in_use(), 0u);
}

}  // namespace
}  // namespace thalweg::ethernet
