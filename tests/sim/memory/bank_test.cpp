// SPDX-License-Identifier: Apache-2.0
// Do kernels that use a bank take the time of its latency and of its DRAM, each alone and together?
#include "memory/bank.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "core/clock.hpp"

namespace thalweg {
namespace {

using Ticks = std::vector<Tick>;

Tick tick() {
  return Kernel::current().tick();
}

/// A bank that moves 8 bytes per cycle.
constexpr BankTiming slow(Tick latency = 1) {
  return {.latency = latency, .dram = {.bytes_per_cycle = 8, .burst_bytes = 8}};
}

class BankOf : public testing::TestWithParam<Tick> {
 protected:
  Domains time;
  Domain& clock = time.add({});
  Kernels kernels{time, GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Bank, BankOf, testing::Values(0, 4096));

TEST_P(BankOf, TheFirstReadTakesTheLatencyAndWritesDoNot) {
  Bank bank(slow(5));
  BankPort port(bank);
  Ticks at;
  kernels.add("k", clock, [&] {
    auto& self = Kernel::current();
    port.request(self, 16, 8, true);
    at.push_back(tick());
    for (std::uint64_t i = 0; i < 3; ++i) {
      port.load(self);
      port.request(self, 8 * i, 8, false);
      at.push_back(tick());
    }
    port.drain(self);
    at.push_back(tick());
  });
  kernels.run();
  EXPECT_EQ(at, (Ticks{0, 5, 5, 5, 8}));
}

TEST_P(BankOf, AKernelIsAheadByWhatItsUnitsHold) {
  auto& slower = time.add({.period = 4, .phase = 1});
  for (auto* domain : {&clock, &slower}) {
    Bank bank(slow());
    BankPort port(bank);
    Ticks at;
    kernels.add("k", *domain, [&] {
      auto& self = Kernel::current();
      const auto begins = self.cycle();
      for (int i = 0; i < 5; ++i) {
        port.request(self, 0, 8 * 32, true);  // 32 cycles
        at.push_back(self.cycle() - begins);
      }
      port.drain(self);
      at.push_back(self.cycle() - begins);
    });
    kernels.run();
    EXPECT_EQ(at, (Ticks{0, 0, 32, 64, 96, 160}));
  }
}

TEST_P(BankOf, KernelsShareWhatItMoves) {
  Bank bank({.dram = {.bytes_per_cycle = 16}});
  BankPort first(bank), second(bank);
  Ticks ends;
  for (auto* port : {&first, &second}) {
    bank.share();
    kernels.add("k", clock, [&, port] {
      for (std::uint64_t i = 0; i < 100; ++i) port->request(Kernel::current(), 1024 * i, 1024, false);
      ends.push_back(tick());
    });
  }
  kernels.run();
  ASSERT_EQ(ends.size(), 2u);
  constexpr Tick kAll = 2 * 100 * 1024 / 16;
  for (const auto end : ends) {
    EXPECT_LE(end, kAll);
    EXPECT_GE(end, kAll - 64 - 2 * 64) << "as far ahead as its units hold, and the other's last piece";
  }
}

TEST_P(BankOf, RequestsOfOneTickAreInTheOrderInWhichKernelsWereMade) {
  Bank bank(slow());
  BankPort first(bank), second(bank);
  Tick of_first = 0, of_second = 0;
  bank.share();
  bank.share();
  const auto use = [&](BankPort& port, Tick& end) {
    return [&] {
      for (int i = 0; i < 3; ++i) {
        port.request(Kernel::current(), 0, 8, false);
        Kernel::current().pause(1);
      }
      port.drain(Kernel::current());
      end = tick();
    };
  };
  kernels.add("first", clock, use(first, of_first));
  kernels.add("second", clock, use(second, of_second));
  kernels.run();
  EXPECT_EQ(of_first, 5);
  EXPECT_EQ(of_second, 6);
}

/// Four loads requested together: in one row they take the bus, in four rows of a bank one row cycle each.
TEST(Bank, OpensRows) {
  constexpr DramTiming kDram{.bytes_per_cycle = 16, .trcd = 4, .trp = 4, .tras = 10, .trtp = 2};
  for (const auto& [stride, cycles] : {std::pair{64, 4 * 4}, {4 * 4 * 8192, 3 * 14 + 4}}) {
    Bank bank({.latency = 20, .dram = kDram});
    double moved = 0;
    for (int i = 0; i < 4; ++i) moved = bank.access(100, static_cast<std::uint64_t>(i * stride), 8, false);
    EXPECT_EQ(moved, 100 + cycles);
    EXPECT_EQ(bank.data(100, moved), 100 + cycles - 4 + 20) << "the latency includes the burst's own 4 cycles";
  }
}

TEST(Bank, PlacesAllocationsInDifferentBanksOfTheDram) {
  const DramTiming dram;
  Bank bank({.dram = dram});
  const auto stripe = std::uint64_t{dram.row_bytes} * dram.groups;
  std::uint64_t end = 0;
  for (unsigned i = 0; i < 9; ++i) {
    const auto bytes = 1 + i * stripe / 2;
    const auto at = bank.allocate(bytes);
    EXPECT_GE(at, end);
    EXPECT_EQ(at % stripe, 0u);
    EXPECT_EQ(at / stripe % dram.banks, i % dram.banks);
    end = at + bytes;
  }
}

TEST(Bank, RefusesALatencyOfNothing) {
  EXPECT_THROW(Bank({.latency = 0}), std::invalid_argument);
}

}  // namespace
}  // namespace thalweg
