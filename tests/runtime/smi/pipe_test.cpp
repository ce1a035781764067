// SPDX-License-Identifier: Apache-2.0
// Do channels between kernels keep their order, and the time of a wide loop? And do banks?
#include "smi/pipe.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/random.hpp"
#include "smi/device_memory.hpp"

namespace thalweg::smi {
namespace {

const SourceLine kHere{"test", 1};

struct Timed {
  Tick written = 0, read = 0;
  bool right = true;
};

/// `turns` of `wide` values each, one turn per cycle on both sides.
Timed turns(int turns, int wide, std::size_t depth, Tick reader_pauses = 1) {
  Domains time;
  auto& clock = time.add({.period = 1});
  Pipe pipe("pipe", sizeof(int), depth);
  Timed timed;
  Kernels kernels(time);
  kernels.add("writes", clock, [&] {
    auto& self = Kernel::current();
    for (int i = 0; i < turns * wide; ++i) {
      if (i % wide == 0 && i > 0) self.pause(1);
      pipe.write(self, &i, kHere);
    }
    timed.written = self.cycle();
  });
  kernels.add("reads", clock, [&] {
    auto& self = Kernel::current();
    for (int i = 0; i < turns * wide; ++i) {
      if (i % wide == 0 && i > 0) self.pause(reader_pauses);
      int got = -1;
      pipe.read(self, &got, kHere);
      timed.right = timed.right && got == i;
    }
    timed.read = self.cycle();
  });
  kernels.run();
  return timed;
}

TEST(Pipe, TakesATurnACycleWhateverItsWidth) {
  for (const int wide : {1, 2, 64}) {
    const auto timed = turns(100, wide, 1);
    EXPECT_TRUE(timed.right);
    EXPECT_EQ(timed.written, 99) << wide;
    EXPECT_EQ(timed.read, 100) << wide;
  }
}

TEST(Pipe, HoldsItsWriterBack) {
  const auto timed = turns(50, 1, 4, 3);
  EXPECT_TRUE(timed.right);
  EXPECT_EQ(timed.read, 1 + 3 * 49);
  EXPECT_EQ(timed.written, 1 + 3 * 45 + 1)
      << "the last one has the room of the fifth but it, a cycle after that was read";
}

TEST(Pipe, AsksWithoutWaiting) {
  Domains time;
  auto& clock = time.add({.period = 1});
  Pipe pipe("pipe", sizeof(int), 2);
  Kernels kernels(time);
  std::vector<Tick> got;
  kernels.add("writes", clock, [&] {
    auto& self = Kernel::current();
    self.pause(10);
    const int value = 7;
    EXPECT_TRUE(pipe.try_write(self, &value));
    self.pause(1);
    EXPECT_TRUE(pipe.try_write(self, &value));
    self.pause(1);
    EXPECT_FALSE(pipe.try_write(self, &value));
  });
  kernels.add("polls", clock, [&] {
    auto& self = Kernel::current();
    for (int i = 0; i < 11; ++i, self.pause(1)) {
      int value = 0;
      if (pipe.try_read(self, &value)) got.push_back(self.cycle());
    }
    self.pause(10);
    int value = 0;
    EXPECT_TRUE(pipe.try_read(self, &value));
  });
  kernels.run();
  EXPECT_TRUE(got.empty());
}

TEST(DeviceMemory, KnowsWhoseAnAddressIs) {
  DeviceMemory memory;
  auto& small = memory.add("small", 0, 0, 10);
  auto& large = memory.add("large", 1, 2, 1 << 20);
  auto& exact = memory.add("exact", 1, 2, 64 << 10);
  for (auto* buffer : {&small, &large, &exact}) {
    const auto at = reinterpret_cast<std::uintptr_t>(buffer->at);
    EXPECT_EQ(memory.find(at), buffer);
    EXPECT_EQ(memory.find(at + buffer->bytes - 1), buffer);
    EXPECT_EQ(buffer->at[buffer->bytes - 1], std::byte{0});
  }
  const auto far = std::size_t{1} << 38;
  EXPECT_EQ(memory.find(reinterpret_cast<std::uintptr_t>(small.at) + far), nullptr);
  EXPECT_EQ(memory.find(reinterpret_cast<std::uintptr_t>(small.at) - far), nullptr);
  EXPECT_EQ(memory.find(reinterpret_cast<std::uintptr_t>(small.at) - 1), nullptr);
  EXPECT_LT(memory.begin(), reinterpret_cast<std::uintptr_t>(small.at) - far);
}

}  // namespace
}  // namespace thalweg::smi
