// SPDX-License-Identifier: Apache-2.0
// Does a call take the same number of cycles in the hardware's call port and in the simulator's sequencer?
#include "accl/call_port.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

namespace thalweg::accl {
namespace {

constexpr std::uint32_t kCommunicatorAt = 0x100, kArithmeticAt = 0x800;

struct Case {
  Scenario scenario;
  std::uint32_t size, count, flat, few;
  Tick quotients;
};

Tick cycles_of(const Case& of) {
  ExchangeMemory exchange;
  exchange.write(kCommunicatorAt, of.size);
  exchange.write(kCommunicatorAt + 4, 1);
  exchange.write(kArithmeticAt, 4);
  exchange.write(kArithmeticAt + 4, 4);
  exchange.write(kArithmeticAt + 20, 1);
  exchange.write(ExchangeMemory::kGatherFlat, of.flat);
  exchange.write(ExchangeMemory::kReduceFlat, of.flat);
  exchange.write(ExchangeMemory::kBroadcastFlat, of.few);
  exchange.write(ExchangeMemory::kSpare, 0x10000);
  std::array<std::uint32_t, kCallWords> words{static_cast<std::uint32_t>(of.scenario), of.count, kCommunicatorAt};
  words[6] = kArithmeticAt;

  CallPort port(8, 64, true, true);
  std::deque<std::optional<std::uint32_t>> answers(3);  // latency of tw_exchange_ports
  CallPort::In first;
  first.set = {.index = 0, .known = true, .at = kCommunicatorAt};
  first.number = 0;
  port.step(first);
  std::size_t given = 0;
  Tick now = 0;
  for (; !port.begins() && now < 1000; ++now) {
    CallPort::In in;
    in.buffers = {.bytes = 4096, .all = 32};
    in.access_ready = in.load_ready = true;
    if (given < kCallWords && port.word_ready()) in.word = words[given++];
    answers.push_back(std::nullopt);
    if (port.access()) answers.back() = exchange.read(*port.access());
    in.answer = answers.front();
    answers.pop_front();
    port.step(in);
  }
  EXPECT_EQ(port.call().code, 0U);
  return now;
}

TEST(CallPort, TakesTheSimulatorsCycles) {
  for (const Case& of :
       {Case{Scenario::copy, 4, 1, 0, 0, 0}, Case{Scenario::send, 4, 100, 0, 0, 0},
        Case{Scenario::barrier, 4, 0, 0, 0, 0},
        Case{Scenario::allreduce, 4, 100, 4096, 0, 7},     // 16 buffers for 3 other ranks: quotients 5 and 2
        Case{Scenario::allreduce, 2, 100, 4096, 0, 18},    // 16 for one other rank: 16 and 2
        Case{Scenario::bcast, 4, 100'000, 4096, 9, 0},     // few ranks: directly from the root
        Case{Scenario::bcast, 4, 100'000, 4096, 2, 6},     // parts of 2 buffers: 3 needed, 2 of 8 buffers, and 1
        Case{Scenario::bcast, 4, 100'000, 16'384, 2, 4}})  // of 8 buffers: too long for two of them
    EXPECT_EQ(cycles_of(of), CallPort::kCycles + of.quotients) << name_of(static_cast<std::uint32_t>(of.scenario));
}

}  // namespace
}  // namespace thalweg::accl
