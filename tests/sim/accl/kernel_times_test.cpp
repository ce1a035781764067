// SPDX-License-Identifier: Apache-2.0
// Do the times of kernels beside the engines depend only on the program, however time is advanced and however far
// kernels run ahead?
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "accl/network.hpp"
#include "core/kernel.hpp"
#include "two_boards.hpp"

namespace thalweg::accl {
namespace {

constexpr TwoClocks kU280{41'250'000'000, {165}, {128}};  ///< 250 MHz, and the 322.265625 MHz of a 100 Gb/s MAC

/// Steps the network until nothing moves.
using Advance = std::function<void(Network&)>;

Advance in_steps_of(Tick ticks) {
  return [ticks](Network& network) {
    std::vector<Completion> completed;
    while (!network.idle()) network.advance(network.now() + ticks, completed);
  };
}
void in_strides(Network& network) {
  std::vector<Completion> completed;
  while (!network.idle()) network.advance(kNever, completed);
}
void by_event(Network& network) {
  std::vector<Completion> completed;
  while (!network.idle()) network.work(kNever, completed);
}

/// Kernels of board 1 send words to a kernel of board 0. Returns the ticks of each push, each pop and the status.
std::vector<Tick> times(const std::string& transport, unsigned words, Tick ahead, const Advance& advance) {
  World world(transport, kU280, 4096);
  Kernels kernels(world.network.assembly().time(), ahead);
  Node &to = world.network.board(0), &from = world.network.board(1);
  Words &data_in = from.kernels().to_engine(16), &data_out = to.kernels().from_engine(9, 16);
  Words &commands = from.kernels().commands(0), &status = from.kernels().status(0);
  const auto tick = [] { return Kernel::current().tick(); };
  std::vector<Tick> pushed, popped, ended;
  kernels.add("read", from.domain(), [&] {
    for (unsigned k = 0; k < words; ++k) {
      data_in.push(stream_word({}, kDataBytes, 0, k + 1 == words));
      pushed.push_back(tick());
    }
  });
  kernels.add("command", from.domain(), [&] {
    const std::array<std::uint32_t, kCallWords> send{3, 16 * words, kCommunicator, 0, 0, 9, kArithmetic, 0, 3};
    for (const auto word : send)
      commands.push(stream_word(std::as_bytes(std::span(&word, 1)), kCommandBytes, 0, false));
    static_cast<void>(status.pop());
    ended.push_back(tick());
  });
  kernels.add("take", to.domain(), [&] {
    for (unsigned k = 0; k < words; ++k) {
      static_cast<void>(data_out.pop());
      popped.push_back(tick());
    }
  });
  advance(world.network);
  EXPECT_EQ(kernels.running(), 0U);
  pushed.insert(pushed.end(), popped.begin(), popped.end());
  pushed.insert(pushed.end(), ended.begin(), ended.end());
  return pushed;
}

class KernelTimes : public testing::TestWithParam<std::tuple<std::string, unsigned>> {};

INSTANTIATE_TEST_SUITE_P(Words, KernelTimes,
                         testing::Combine(testing::Values("udp", "rdma"), testing::Values(1, 64, 1000)));

TEST_P(KernelTimes, FollowFromTheProgramAlone) {
  const auto& [transport, words] = GetParam();
  const auto expected = times(transport, words, 0, by_event);
  ASSERT_EQ(expected.size(), 2 * words + 1);
  for (const Tick ahead : {0, 4096}) {
    EXPECT_EQ(times(transport, words, ahead, by_event), expected) << ahead;
    EXPECT_EQ(times(transport, words, ahead, in_strides), expected) << ahead;
    for (const Tick ticks : {10, 1000, 50'000})
      EXPECT_EQ(times(transport, words, ahead, in_steps_of(ticks)), expected) << ahead << ", in steps of " << ticks;
  }
}

}  // namespace
}  // namespace thalweg::accl
