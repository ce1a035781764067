// SPDX-License-Identifier: Apache-2.0
#include "memory/bank.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/stream.hpp"

namespace thalweg {
namespace {

using Ticks = std::vector<Tick>;

Tick tick() {
  return Kernel::current().tick();
}

class BankOf : public testing::TestWithParam<Tick> {
 protected:
  Domains time;
  Domain& clock = time.add({});
  Kernels kernels{time, GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Bank, BankOf, testing::Values(0, 4096));

TEST_P(BankOf, AReadWaitsForItsDataAndAWriteDoesNot) {
  Bank bank("m", 256, {}, {.bytes_per_cycle = 8, .latency = 5});
  BankPort port(bank);
  Ticks at;
  kernels.add("k", clock, [&] {
    port.write<std::uint64_t>(16, 42);
    at.push_back(tick());
    EXPECT_EQ(port.read<std::uint64_t>(16), 42u);  // asked for in the next cycle
    at.push_back(tick());
    std::byte line[64];
    port.read(0, line);  // 8 cycles, and 4 more
    at.push_back(tick());
    EXPECT_EQ(line[16], std::byte{42});
  });
  kernels.run();
  EXPECT_EQ(at, (Ticks{0, 6, 18}));
}

TEST_P(BankOf, APipelineReadsAWordACycle) {
  Bank bank("m", 1024, {}, {.bytes_per_cycle = 8, .latency = 20});
  BankPort port(bank);
  Stream<std::uint64_t> out("out", 1);
  Ticks seen;
  kernels.add("loop", clock, [&] {
    for (std::uint64_t i = 0; i < 4; ++i) port.write(8 * i, i * i);
    Pipeline pipeline(1, 20);
    for (std::size_t i = 0; i < 4; ++i) {
      pipeline.turn();
      out.push(port.read<std::uint64_t>(8 * i));
    }
  });
  kernels.add("to", clock, [&] {
    for (std::uint64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(out.pop(), i * i);
      seen.push_back(tick());
    }
  });
  kernels.run();
  EXPECT_EQ(seen, (Ticks{25, 26, 27, 28}));  // the first read is asked for in cycle 4
}

TEST_P(BankOf, OneAtATimeTheFirstOfATickIsTheKernelThatWasMadeFirst) {
  Bank bank("m", 64, {}, {.bytes_per_cycle = 8, .latency = 1});
  BankPort first(bank), second(bank);
  Ticks of_first, of_second;
  const auto reads = [&](BankPort& port, Ticks& at) {
    return [&] {
      for (int i = 0; i < 3; ++i) {
        (void)port.read<std::uint64_t>(0);
        at.push_back(tick());
      }
    };
  };
  kernels.add("first", clock, reads(first, of_first));
  kernels.add("second", clock, reads(second, of_second));
  kernels.run();
  EXPECT_EQ(of_first, (Ticks{1, 3, 5}));
  EXPECT_EQ(of_second, (Ticks{2, 4, 6}));
}

TEST_P(BankOf, TwoAtOnceGoBesideEachOther) {
  Bank bank("m", 64, {}, {.bytes_per_cycle = 8, .latency = 1, .at_once = 2});
  BankPort first(bank), second(bank);
  Tick ended = 0;
  for (auto* port : {&first, &second})
    kernels.add("k", clock, [&, port] {
      for (int i = 0; i < 3; ++i) (void)port->read<std::uint64_t>(0);
      ended = tick();
    });
  kernels.run();
  EXPECT_EQ(ended, 3);
}

TEST_P(BankOf, WhatOneWritesAnotherReadsLater) {
  Bank bank("m", 64, {}, {.bytes_per_cycle = 64});
  BankPort mine(bank), other(bank);
  std::vector<int> read;
  kernels.add("reads", clock, [&] {
    for (int i = 0; i < 4; ++i) read.push_back(mine.read<int>(0));
  });
  kernels.add("writes", clock, [&] {
    Kernel::current().pause(2);
    other.write(0, 7);
  });
  kernels.run();
  EXPECT_EQ(read, (std::vector<int>{0, 0, 0, 7}));  // reads in 0, 1, 2, of which the last is the first of its cycle
}

TEST_P(BankOf, ABankOfAnotherClockStartsAtItsEdges) {
  auto& slow = time.add({.period = 4, .phase = 1});
  Bank bank("m", 64, slow.clock, {.bytes_per_cycle = 8, .latency = 2});
  BankPort port(bank);
  Ticks at;
  kernels.add("k", clock, [&] {
    for (int i = 0; i < 2; ++i) {
      (void)port.read<std::uint64_t>(0);
      at.push_back(tick());
    }
  });
  kernels.run();
  EXPECT_EQ(at, (Ticks{6, 14}));  // starts at 1 and 9, there at 5 and 13
}

/// Four loads beside each other: of one burst's row they take the bus, of four rows of a bank its cycle each.
TEST_P(BankOf, ABankOfDramOpensRows) {
  constexpr DramTiming kDram{.bytes_per_cycle = 16, .trcd = 4, .trp = 4, .tras = 10, .trtp = 2};
  for (const auto& [stride, cycles] : {std::pair{64, 4 * 4}, {4 * 4 * 8192, 3 * 14 + 4}}) {
    Bank bank("m", 4 << 20, {}, {.latency = 1, .at_once = 4, .dram = kDram});
    std::vector<std::byte> word(8);
    Tick seen = 0;
    for (int i = 0; i < 4; ++i) seen = bank.read(0, static_cast<std::size_t>(i * stride), word).seen;
    EXPECT_EQ(seen, cycles - 1);
  }
}

TEST_P(BankOf, WhatIsOutsideIsSaid) {
  Bank bank("m", 64, {}, {});
  BankPort port(bank);
  kernels.add("k", clock, [&] { (void)port.read<std::uint64_t>(60); });
  try {
    kernels.run();
    FAIL() << "read outside";
  } catch (const std::out_of_range& error) {
    EXPECT_STREQ(error.what(), "memory bank m has 64 bytes; 8 at 60 are outside");
  }
}

}  // namespace
}  // namespace thalweg
