// SPDX-License-Identifier: Apache-2.0
// Frames between ports: times from the byte counts of IEEE 802.3, tables and buffers of the switch, and losses.
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <tuple>
#include <vector>

#include "core/clock.hpp"
#include "ethernet/line.hpp"
#include "ethernet/nic.hpp"
#include "ethernet/switch.hpp"

namespace thalweg::ethernet {
namespace {

constexpr double kHertz = 322'265'625;
const Rate kRate = Rate::of(100, 1, 322'265'625);

/// A latency of a line.
Units line_ns(double ns) {
  return kRate.cycles(ns * 1e-9 * kHertz);
}

/// NICs around a switch, or two of them on one cable.
class World {
 public:
  World(unsigned nics, Switch::Config config, Line::Config line = {}) : domain_(time_.add({})) {
    config.ports = nics;
    line.rate = kRate;
    for (unsigned n = 0; n < nics; ++n) add();
    switch_ = std::make_unique<Switch>(config, domain_);
    for (unsigned n = 0; n < nics; ++n) join(nics_[n], switch_->port(n), line);
  }
  explicit World(Line::Config line) : domain_(time_.add({})) {
    line.rate = kRate;
    add();
    add();
    join(nics_[0], nics_[1].port(0), line);
  }

  Switch& middle() { return *switch_; }
  Nic& nic(unsigned number) { return nics_[number]; }
  FrameRef frame(Address to, Address from, std::size_t payload, std::uint8_t first = 0) {
    return frames_.make(to, from, 0x88B5, payload, [&](std::span<std::byte> bytes) {
      for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<std::byte>(first + k);
    });
  }
  /// `from` and `to` are NIC numbers; a NIC's address is its number plus one.
  void send(unsigned from, unsigned to, std::size_t payload, Tick at = 0) {
    nics_[from].send(at * kRate.cycle, frame(to + 1, from + 1, payload));
  }
  void send(unsigned from, const FrameRef& frame) { nics_[from].send(0, frame); }
  void run() { time_.advance(1'000'000'000); }

  struct Received {
    unsigned at;
    Tick now;
    Address source;
    unsigned size;
  };
  std::vector<Received> received;
  std::vector<Lost> lost() {
    std::vector<Lost> all;
    if (switch_) switch_->lost(100, all);
    for (unsigned n = 0; n < nics_.size(); ++n) nics_[n].lost(n, all);
    return all;
  }
  std::size_t in_use() const { return frames_.in_use(); }

 private:
  void add() {
    const auto number = static_cast<unsigned>(nics_.size());
    auto& nic = nics_.emplace_back(number + 1, domain_);
    nic.receive = [this, number](Tick now, const Arrival& arrival, Units) {
      const auto& frame = arrival.frame;
      received.push_back({number, now, frame->source(), frame->size()});
      for (std::size_t k = 1; k < frame->payload().size(); ++k)
        EXPECT_EQ(std::to_integer<unsigned>(frame->payload()[k]),
                  (std::to_integer<unsigned>(frame->payload()[0]) + k) % 256);
    };
  }
  void join(Nic& nic, LinkPort& other, const Line::Config& line) {
    auto back = line;
    ++back.seed;
    cables_.push_back(
        std::make_unique<Cable>(line, back, dynamic_cast<Port&>(nic.port(0)), dynamic_cast<Port&>(other)));
  }

  Frames frames_;
  Domains time_;
  Domain& domain_;
  std::deque<Nic> nics_;
  std::unique_ptr<Switch> switch_;
  std::vector<std::unique_ptr<Cable>> cables_;
};

/// The cycle that contains the end of `bytes` at 100 Gb/s plus `ns`.
Tick cycle_after(double bytes, double ns = 0) {
  return static_cast<Tick>(std::ceil((bytes * 8 / 100 + ns) * 1e-9 * kHertz - 1e-6));
}

TEST(Rate, HasWholeUnitsInACycle) {
  EXPECT_EQ(kRate, (Rate{1280, 33}));  // 12.5e9 / 322265625 = 38.78...
  EXPECT_EQ(Rate::of(10, 1, 156'250'000), (Rate{8, 1}));
  EXPECT_EQ(Rate::of(100, 11, Tick{322'265'625} * 11), kRate);
  EXPECT_THROW((void)Rate::of(0, 1, 1000), std::invalid_argument);
  EXPECT_THROW((void)Rate::of(99.999'999, 1, 1'000'000'007), std::invalid_argument);
}

TEST(Line, AFrameTakesItsBytes) {
  for (const unsigned payload : {46u, 64u, 1500u, 9152u, 9198u}) {
    World world(Line::Config{.latency = line_ns(500)});
    world.send(0, 1, payload);
    world.run();
    ASSERT_EQ(world.received.size(), 1u);
    EXPECT_EQ(world.received[0].now, cycle_after(8 + 14 + payload + 4, 500)) << payload;
    EXPECT_EQ(world.in_use(), 0u);
  }
}

TEST(Line, ShortFramesArePaddedAndGapsKept) {
  World world(Line::Config{});
  for (unsigned k = 0; k < 100; ++k) world.send(0, 1, 1);
  world.run();
  ASSERT_EQ(world.received.size(), 100u);
  EXPECT_EQ(world.received[0].size, 15u);  // the padding belongs to the line, not to the frame
  // 64 bytes, 8 of preamble and 12 of gap: 148.8 million frames per second.
  for (unsigned k = 0; k < 100; ++k) EXPECT_EQ(world.received[k].now, cycle_after(84.0 * k + 72));
}

TEST(Line, FaultsAreCounted) {
  for (const auto& [faults, least, most] : {std::tuple(WireFaults{.frames_lost = 0.1}, 850u, 950u),
                                            std::tuple(WireFaults{.frames_duplicated = 0.1}, 1050u, 1150u),
                                            // 8 x 1518 bits: e^-0.12144 of the frames have no error
                                            std::tuple(WireFaults{.bit_error_rate = 1e-5}, 830u, 940u)}) {
    World world(Line::Config{.faults = faults, .seed = 7});
    for (unsigned k = 0; k < 1000; ++k) world.send(0, 1, 1500);
    world.run();
    const auto got = static_cast<unsigned>(world.received.size());
    EXPECT_GE(got, least);
    EXPECT_LE(got, most);
    if (faults.bit_error_rate > 0) {
      ASSERT_EQ(world.lost().size(), 1u);
      EXPECT_EQ(world.lost()[0].count, 1000 - got);
    }
  }
}

TEST(Switch, CutsThroughAfterTheFirstWord) {
  Switch::Config config{.latency = 300e-9 * kHertz, .buffer_bytes = 1 << 20};
  const double cable = 15;
  World cut(3, config, {.latency = line_ns(cable)});
  cut.middle().set(3, {2});
  cut.send(0, 2, 9152);
  cut.run();
  ASSERT_EQ(cut.received.size(), 1u);
  // The first word at the switch, its latency, and the whole frame again on the second cable.
  EXPECT_EQ(cut.received[0].now, cycle_after(8 + 64 + 8 + 14 + 9152 + 4, 300 + 2 * cable));

  config.mode = Switch::Mode::store_and_forward;
  World stored(3, config, {.latency = line_ns(cable)});
  stored.middle().set(3, {2});
  stored.send(0, 2, 9152);
  stored.run();
  EXPECT_EQ(stored.received[0].now, cycle_after(2 * (8 + 14 + 9152 + 4), 300 + 2 * cable));
}

TEST(Switch, LearnsAndFloods) {
  World world(4, {.buffer_bytes = 1 << 20});
  world.send(0, 2, 100);         // unknown destination: flooded, and accepted by NIC 2 alone
  world.send(2, 0, 100, 1'000);  // to the source of the first frame
  world.send(0, 2, 100, 2'000);
  world.run();
  ASSERT_EQ(world.received.size(), 3u);
  EXPECT_EQ(world.middle().counts(0).flooded, 1u);
  EXPECT_EQ(world.middle().counts(2).flooded, 0u);
  EXPECT_EQ(world.nic(1).strays() + world.nic(3).strays(), 2u);
  EXPECT_TRUE(world.lost().empty());
}

TEST(Switch, GroupsGoToTheirPorts) {
  World world(4, {.buffer_bytes = 1 << 20});
  constexpr Address group = 0x0300'0000'0001;
  world.middle().set(group, {0, 1, 3});
  world.send(0, world.frame(group, 1, 100));
  world.send(2, world.frame(kBroadcast, 3, 100));
  world.run();
  std::vector<unsigned> at;
  for (const auto& each : world.received)
    if (each.source == 1) at.push_back(each.at);
  EXPECT_EQ(at, (std::vector{1u, 3u}));  // not the port from which it came
  EXPECT_EQ(world.received.size(), 2u + 3u);
  EXPECT_EQ(world.in_use(), 0u);
}

TEST(Switch, AnAddressBehindTheSamePortIsFiltered) {
  World world(3, {.buffer_bytes = 1 << 20, .floods = false});
  world.middle().set(2, {0});
  world.send(0, 1, 100);
  world.send(0, 2, 100);  // unknown, and not flooded
  world.run();
  EXPECT_TRUE(world.received.empty());
  ASSERT_EQ(world.lost().size(), 1u);
  EXPECT_EQ(world.lost()[0].what, "frames without a route at port 0");
  EXPECT_EQ(world.lost()[0].count, 1u);
  EXPECT_EQ(world.middle().counts(0).filtered, 1u);
}

/// Four senders to one receiver at full rate: a quarter gets through, and the buffer limits the queue.
TEST(Switch, OverloadIsLostAndCounted) {
  for (const bool shared : {false, true}) {
    constexpr unsigned frames = 2'000, payload = 1486;  // 1500 bytes without FCS
    World world(5, {.buffer_bytes = 60'000, .shared = shared});
    world.middle().set(5, {4});
    for (unsigned k = 0; k < frames; ++k)
      for (unsigned n = 0; n < 4; ++n) world.send(n, 4, payload);
    world.run();
    const auto full = world.middle().counts(4).full;
    EXPECT_EQ(world.received.size() + full, 4u * frames);
    EXPECT_NEAR(static_cast<double>(world.received.size()), frames + 40, 2);  // and those queued at the end
    EXPECT_EQ(world.middle().counts(4).most_bytes, 60'000u);
    ASSERT_EQ(world.lost().size(), 1u);
    EXPECT_EQ(world.lost()[0].what, "frames without buffer space at port 4");
    EXPECT_EQ(world.lost()[0].count, full);
    // The output is never idle in between.
    EXPECT_EQ(world.received.back().now - world.received.front().now,
              cycle_after((static_cast<double>(world.received.size()) - 1) * 1524 + 72 + 8 + 1504) -
                  cycle_after(72 + 8 + 1504));
  }
}

TEST(Switch, DamagedFramesGoNoFurtherThanWhereTheirEndIsSeen) {
  for (const auto mode : {Switch::Mode::cut_through, Switch::Mode::store_and_forward}) {
    World world(2, {.mode = mode, .buffer_bytes = 1 << 24}, {.faults = {.bit_error_rate = 1e-5}, .seed = 3});
    world.middle().set(2, {1});
    for (unsigned k = 0; k < 500; ++k) world.send(0, 1, 1500);
    world.run();
    std::uint64_t damaged = 0;
    for (const auto& lost : world.lost()) damaged += lost.count;
    EXPECT_EQ(world.received.size() + damaged, 500u);
    EXPECT_GT(damaged, 50u);
    EXPECT_EQ(world.middle().counts(0).damaged > 0, mode == Switch::Mode::store_and_forward);
  }
}

}  // namespace
}  // namespace thalweg::ethernet
