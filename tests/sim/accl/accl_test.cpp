// SPDX-License-Identifier: Apache-2.0
// Boards under hostile packets and calls: no other memory changes, everything is counted, and nothing crashes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "../../seed.hpp"
#include "accl/network.hpp"
#include "thalweg_accl_spec.hpp"
#include "two_boards.hpp"

namespace thalweg::accl {
namespace {

/// Random packets that board 0 receives: random fields, valid ones among them, and bytes that are not a packet.
class HostilePackets : public testing::TestWithParam<std::string> {};
class HostileCalls : public testing::TestWithParam<std::string> {};

TEST_P(HostilePackets, ChangeNothingThatIsNotTheirs) {
  World world(GetParam());
  std::mt19937_64 draw(test_seed());
  const auto below = [&](std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(0, most - 1)(draw);
  };
  Node& board = world.network.board(0);
  const Call recv{.scenario = Scenario::recv,
                  .count = 1000,
                  .communicator = kCommunicator,
                  .root = 1,
                  .arithmetic = kArithmetic,
                  .address = {0, 0, kPlace}};
  if (GetParam() == "rdma") world.call(0, recv);  // which offers a buffer and waits
  world.run();
  const std::vector<std::byte> untouched(kPlace + 4000, std::byte{});
  for (unsigned turn = 0; turn < 20'000; ++turn) {
    if (turn % 100 == 0)
      board.submit(1'000'000 + turn, 0, {.scenario = Scenario::config, .function = 1});  // empties the buffers
    spec::AcclPacket packet{.kind = static_cast<spec::MessageKind>(below(10)),
                            .stream = static_cast<std::uint8_t>(below(9)),
                            .source = static_cast<std::uint16_t>(below(3)),
                            .communicator = static_cast<std::uint32_t>(draw()),
                            .tag = static_cast<std::uint32_t>(below(3)),
                            .number = static_cast<std::uint32_t>(below(4)),
                            .length = below(2000),
                            .offset = below(2) ? 0 : below(2000),
                            .segment = below(2) ? 0 : below(2000),
                            .segment_length = static_cast<std::uint32_t>(below(400)),
                            .session = static_cast<std::uint16_t>(below(3)),
                            .peer = static_cast<std::uint16_t>(below(3)),
                            .sequence = static_cast<std::uint32_t>(below(100)),
                            .base = static_cast<std::uint32_t>(below(100)),
                            .received = draw()};
    if (below(8) == 0) packet.length = draw();
    if (below(8) == 0) packet.offset = draw();
    if (below(8) == 0) packet.segment = draw();
    if (below(8) == 0) packet.sequence = static_cast<std::uint32_t>(draw());
    ethernet::UdpEnd from = world.network.board(1).udp.own;
    if (below(8) == 0) from.ip = static_cast<std::uint32_t>(draw());
    if (below(8) == 0) from = board.udp.own;
    const std::size_t size = below(4) ? 64 + below(300) : below(64);
    const auto frame = ethernet::make_udp(world.frames, from, board.udp.own, size, [&](std::span<std::byte> bytes) {
      for (auto& byte : bytes) byte = static_cast<std::byte>(draw());
      const auto words = packet.pack();
      if (below(10)) std::memcpy(bytes.data(), words.data(), std::min<std::size_t>(size, 64));
    });
    const Tick now = world.network.now();
    board.udp.receive(frame, now + 1, now + 2);
    std::vector<Completion> completed;
    world.network.advance(now + 10, completed);
  }
  // Only receive buffers have changed.
  const auto after = world.memory(false, kBuffers * kBufferBytes, kBytes - kBuffers * kBufferBytes);
  EXPECT_TRUE(std::ranges::all_of(after, [](std::byte byte) { return byte == std::byte{}; }));
  EXPECT_TRUE(std::ranges::all_of(world.memory(true, 0, kBytes), [](std::byte byte) { return byte == std::byte{}; }));
  EXPECT_GT(world.dropped(), 5'000U);
}

/// Calls of random words: each is refused, ends, or waits for a message; none crashes.
TEST_P(HostileCalls, AreRefusedOrEnd) {
  World world(GetParam());
  std::mt19937_64 draw(test_seed());
  const auto one_of = [&](std::initializer_list<std::uint32_t> all) { return all.begin()[draw() % all.size()]; };
  const auto word = [&] { return static_cast<std::uint32_t>(draw()); };
  unsigned refused = 0;
  bool waited = false;
  for (unsigned turn = 0; turn < 20'000; ++turn) {
    std::array<std::uint32_t, kCallWords> words{
        one_of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 255, 14, word()}),
        one_of({0, 1, 100, 5000, word()}),
        one_of({kCommunicator, kCommunicator, kCommunicator, 0, 0x1FF0, word()}),
        one_of({0, 1, 2, word()}),
        one_of({0, 1, 2, 3, word()}),
        one_of({0, kAnyTag, word()}),
        one_of({kArithmetic, kArithmetic, 0, 0x1FF0, word()}),
        one_of({0, 1, 8, 15, word()}),
        one_of({0, 1, 2, 0x700, word()}),
        one_of({0, 0x1000, word()}),
        one_of({0, 0, word()}),
        one_of({0, 0x2000, word()}),
        one_of({0, 0, word()}),
        one_of({0, 0x3000, word()}),
        one_of({0, 0, word()})};
    try {
      world.network.submit(1'000'000 + turn, static_cast<unsigned>(draw() % 2), static_cast<unsigned>(draw() % 3),
                           Call::of(words));
    } catch (const std::invalid_argument&) {
      ++refused;
    }
    std::vector<Completion> completed;
    world.network.advance(world.network.now() + static_cast<Tick>(draw() % 500), completed);
    if (turn % 100 == 0) waited |= !world.network.blocked().empty();  // a reset ends all waiting calls
  }
  std::vector<Completion> completed;
  for (unsigned k = 0; k < 100; ++k) world.network.advance(world.network.now() + 1'000'000, completed);
  EXPECT_GT(refused, 300U);
  EXPECT_TRUE(waited);
}

INSTANTIATE_TEST_SUITE_P(, HostilePackets, testing::Values("udp", "rdma"),
                         [](const auto& tested) { return tested.param; });
INSTANTIATE_TEST_SUITE_P(, HostileCalls, testing::Values("udp", "rdma", "tcp"),
                         [](const auto& tested) { return tested.param; });

/// Random segments received by board 0, with the addresses and ports of its connection among them: the connection stays
/// open, and still carries a message.
TEST(HostileSegments, LeaveAConnectionAsItIs) {
  World world("tcp");
  std::mt19937_64 draw(test_seed());
  const auto below = [&](std::uint64_t most) { return draw() % most; };
  Node& board = world.network.board(0);
  const ethernet::UdpEnd peer = world.network.board(1).udp.own;
  for (unsigned turn = 0; turn < 20'000; ++turn) {
    ethernet::UdpEnd from = peer, to = board.udp.own;
    if (below(8) == 0) from.ip = static_cast<std::uint32_t>(draw());
    if (below(8) == 0) from.ip = to.ip;
    if (below(3) == 0) from.port = static_cast<std::uint16_t>(49'152 + below(3));
    if (below(3) == 0) to.port = static_cast<std::uint16_t>(49'152 + below(3));
    ethernet::TcpHeading heading{.sequence = static_cast<std::uint32_t>(draw()),
                                 .acknowledgement = static_cast<std::uint32_t>(draw()),
                                 .fin = below(8) == 0,
                                 .syn = below(4) == 0,
                                 .rst = below(8) == 0,
                                 .psh = below(2) == 0,
                                 .ack = below(4) != 0,
                                 .window = static_cast<std::uint16_t>(below(3) == 0 ? 0 : draw())};
    if (below(2)) heading.most = static_cast<std::uint16_t>(below(3) ? draw() : below(3));
    if (below(2)) heading.shift = static_cast<std::uint8_t>(draw());
    const auto made =
        ethernet::make_tcp(world.frames, from, to, heading, below(4) ? below(300) : 0, [&](std::span<std::byte> data) {
          for (auto& byte : data) byte = static_cast<std::byte>(draw());
        });
    std::vector<std::byte> bytes(made->bytes().begin(), made->bytes().end());
    if (below(4) == 0) bytes[14 + below(bytes.size() - 14)] ^= static_cast<std::byte>(1 + below(255));
    if (below(8) == 0) bytes.resize(std::max<std::size_t>(54, below(bytes.size() + 1)));
    const Tick now = world.network.now();
    static_cast<void>(board.udp.segment(world.frames.copy(bytes), now + 2));
    std::vector<Completion> completed;
    world.network.advance(now + 10, completed);
  }
  EXPECT_GT(world.dropped(), 5'000U);
  std::vector<std::byte> sent(4000);
  for (auto& byte : sent) byte = static_cast<std::byte>(draw());
  world.network.board(1).device.write(kPlace, sent);
  const Call send{.scenario = Scenario::send,
                  .count = 1000,
                  .communicator = kCommunicator,
                  .root = 0,
                  .arithmetic = kArithmetic,
                  .address = {kPlace, 0, 0}};
  const Call recv{.scenario = Scenario::recv,
                  .count = 1000,
                  .communicator = kCommunicator,
                  .root = 1,
                  .arithmetic = kArithmetic,
                  .address = {0, 0, kPlace}};
  world.call(1, send);
  world.call(0, recv);
  world.run();
  EXPECT_EQ(world.memory(false, kPlace, 4000), sent);
}

}  // namespace
}  // namespace thalweg::accl
