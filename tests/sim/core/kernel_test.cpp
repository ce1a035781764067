// SPDX-License-Identifier: Apache-2.0
#include "core/kernel.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/stream.hpp"

namespace thalweg {
namespace {

using Ticks = std::vector<Tick>;

struct Simulation {
  Domains time;
  Domain& clock = time.add({});
  Kernels kernels;

  explicit Simulation(Tick ahead = 4096) : kernels(time, ahead) {}
};

Tick tick() {
  return Kernel::current().tick();
}

/// A kernel's actions depend on its cycles alone; they are the same cycle by cycle and ahead of time.
class Both : public testing::TestWithParam<Tick> {
 protected:
  Simulation s{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Kernels, Both, testing::Values(0, 4096));

TEST_P(Both, ASecondUseEndsACycle) {
  Stream<int> a("a", 16), b("b", 16);
  std::vector<Tick> pushed, popped;
  s.kernels.add("from", s.clock, [&] {
    for (int i = 0; i < 3; ++i) {  // one cycle per turn
      a.push(i);
      b.push(i);
      pushed.push_back(tick());
    }
    a.push(3);
    a.push(4);
    pushed.push_back(tick());
  });
  s.kernels.add("to", s.clock, [&] {
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(a.pop(), i);
      EXPECT_EQ(b.pop(), i);
      popped.push_back(tick());
    }
    EXPECT_EQ(a.pop() + a.pop(), 7);
    popped.push_back(tick());
  });
  EXPECT_TRUE(s.kernels.run());
  EXPECT_EQ(pushed, (Ticks{0, 1, 2, 4}));
  EXPECT_EQ(popped, (Ticks{1, 2, 3, 5}));
}

TEST_P(Both, AFullStreamHoldsItsWriter) {
  Stream<int> a("a", 2, 3);
  std::vector<Tick> pushed, popped;
  s.kernels.add("from", s.clock, [&] {
    for (int i = 0; i < 5; ++i) {
      a.push(i);
      pushed.push_back(tick());
    }
  });
  s.kernels.add("to", s.clock, [&] {
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(a.pop(), i);
      popped.push_back(tick());
    }
  });
  s.kernels.run();
  // Room for 2: a word is visible 3 cycles after its push, its free slot one cycle after its pop.
  EXPECT_EQ(pushed, (Ticks{0, 1, 4, 5, 8}));
  EXPECT_EQ(popped, (Ticks{3, 4, 7, 8, 11}));
}

TEST_P(Both, ClocksSeeEachOtherAtLaterEdges) {
  Domains time;
  auto& fast = time.add({.period = 3});
  auto& slow = time.add({.period = 5, .phase = 1});
  Kernels kernels(time, GetParam());
  Stream<int> a("a", 2);
  std::vector<Tick> pushed, popped;
  kernels.add("from", fast, [&] {
    for (int i = 0; i < 4; ++i) {
      a.push(i);
      pushed.push_back(tick());
    }
  });
  kernels.add("to", slow, [&] {
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(a.pop(), i);
      popped.push_back(tick());
    }
  });
  kernels.run();
  // Edges at 0 3 6 9 12 15 and 1 6 11 16 21: a word written at 6 is read at 11, a slot freed at 6 is visible at 9.
  EXPECT_EQ(pushed, (Ticks{0, 3, 6, 9}));
  EXPECT_EQ(popped, (Ticks{1, 6, 11, 16}));
}

TEST_P(Both, PollingTakesACycleAndSeesWhatIsThere) {
  Stream<int> a("a", 1, 2);
  std::vector<std::pair<Tick, bool>> pops, pushes;
  s.kernels.add("from", s.clock, [&] {
    Kernel::current().pause(2);
    for (int i = 0; i < 6; ++i) {
      const bool done = a.try_push(i);
      pushes.emplace_back(tick(), done);
    }
  });
  s.kernels.add("to", s.clock, [&] {
    int got = 0;
    for (int i = 0; i < 8; ++i) {
      const bool done = a.try_pop(got);
      pops.emplace_back(tick(), done);
    }
  });
  s.kernels.run();
  using Polls = std::vector<std::pair<Tick, bool>>;
  EXPECT_EQ(pushes, (Polls{{2, true}, {3, false}, {4, false}, {5, true}, {6, false}, {7, false}}));
  EXPECT_EQ(pops,
            (Polls{{0, false}, {1, false}, {2, false}, {3, false}, {4, true}, {5, false}, {6, false}, {7, true}}));
}

TEST_P(Both, ALoopTakesTheIntervalAndDepthThatItIsGiven) {
  Stream<int> in("in", 64), out("out", 1);
  std::vector<Tick> turns, seen;
  Tick left = 0;
  s.kernels.add("from", s.clock, [&] {
    for (int i = 0; i < 4; ++i) in.push(i);
  });
  s.kernels.add("loop", s.clock, [&] {
    {
      Pipeline pipeline(3, 10);
      for (int i = 0; i < 4; ++i) {
        pipeline.iterate();
        turns.push_back(tick());
        out.push(2 * in.pop());
      }
    }
    left = tick();
  });
  s.kernels.add("to", s.clock, [&] {
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(out.pop(), 2 * i);
      seen.push_back(tick());
    }
  });
  s.kernels.run();
  EXPECT_EQ(turns, (Ticks{0, 4, 7, 10}));  // the first one stalls for one cycle
  EXPECT_EQ(seen, (Ticks{12, 15, 18, 21}));
  EXPECT_EQ(left, 20);
}

TEST_P(Both, WaitsSayWhoForWhomOnWhatSinceWhenAndWhere) {
  Stream<int> there("there"), back("back"), asked("asked"), spare("spare");
  const auto line = static_cast<unsigned>(__LINE__);
  s.kernels.add("one", s.clock, [&] {
    there.push(1);
    const int turns = back.pop();
    for (int i = 0; i < turns; ++i) Kernel::current().pause(6);
    (void)back.pop();  // line + 5
  });
  s.kernels.add("two", s.clock, [&] {
    back.push(there.pop());
    (void)there.pop();  // line + 9
  });
  s.kernels.add("three", s.clock, [&] {
    for (;;) spare.push(there.size() ? 1 : 2, SourceLine("a.cl", 40));
  });
  s.kernels.add("server", s.clock, [&] { (void)asked.pop(); }, {.serves = true});
  try {
    s.kernels.run();
    FAIL() << "no deadlock";
  } catch (const Stuck& deadlock) {
    const std::string here = __FILE__;
    EXPECT_EQ(std::string(deadlock.what()),
              "deadlock: no kernel can proceed\n  one has waited since tick 8 to pop from back, for two (" + here +
                  ":" + std::to_string(line + 5) + ")\n  two has waited since tick 2 to pop from there, for one (" +
                  here + ":" + std::to_string(line + 9) +
                  ")\n  three has waited since tick 2 to push into spare; no kernel has used its other end (a.cl:40)\n "
                  " wait-for cycle: one waits for two waits for one");
  }
}

TEST(Kernel, ThatServesDoesNotKeepTheOthersFromEnding) {
  Simulation s;
  Stream<int> asked("asked"), told("told");
  s.kernels.add("server", s.clock,
                [&] {
                  while (true) told.push(asked.pop() + 1);
                },
                {.serves = true});
  s.kernels.add("client", s.clock, [&] {
    asked.push(1);
    EXPECT_EQ(told.pop(), 2);
  });
  EXPECT_TRUE(s.kernels.run());
  EXPECT_EQ(s.kernels.running(), 0u);
}

TEST(Kernel, IsEndedWithWhatItHolds) {
  const auto held = std::make_shared<int>(1);
  {
    Simulation s;
    Stream<int> a("a");
    s.kernels.add("holds", s.clock, [&, mine = held] {
      const auto more = std::make_unique<std::vector<int>>(1000);
      (void)a.pop();
    });
    s.kernels.add("never begins", s.clock, [] {});
    EXPECT_THROW(s.kernels.run(), Stuck);
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Kernel, ThrowsToWhoeverLetsTimePass) {
  Simulation s;
  Stream<int> a("a");
  s.kernels.add("throws", s.clock, [&] {
    try {
      throw std::runtime_error("one");
    } catch (const std::runtime_error&) {
      (void)a.pop();  // meanwhile another kernel throws and catches exceptions
      throw;
    }
  });
  s.kernels.add("pushes", s.clock, [&] {
    try {
      throw std::runtime_error("two");
    } catch (const std::runtime_error& two) {
      a.push(1);
      Kernel::current().pause(10'000);
      EXPECT_STREQ(two.what(), "two");
    }
  });
  try {
    s.kernels.run();
    FAIL() << "nothing thrown";
  } catch (const std::runtime_error& thrown) {
    EXPECT_STREQ(thrown.what(), "one");
  }
}

TEST(Kernel, LoopsForEverOnlyAsFarAsTimeGoes) {
  Simulation s;
  s.kernels.add("loops", s.clock, [] {
    for (;;) Kernel::current().pause(1);
  });
  EXPECT_FALSE(s.kernels.run(100'000));
  EXPECT_EQ(s.time.now(), 100'000);
}

TEST(Kernel, MisuseIsSaid) {
  Simulation s;
  Stream<int> a("a", 8);
  EXPECT_THROW(a.push(1), std::logic_error);
  s.kernels.add("one", s.clock, [&] { a.push(1); });
  s.kernels.add("two", s.clock, [&] { a.push(1); });
  try {
    s.kernels.run();
    FAIL() << "two kernels push into one stream";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "stream a: one and two use the same end, which only one of them may use");
  }
  EXPECT_THROW(Stream<int>("b", 0), std::invalid_argument);
  EXPECT_THROW(Stream<int>("b", 1, 0), std::invalid_argument);
}

/// A stream end that its kernel has released belongs to the next kernel; a kernel can check for a word or room without
/// using the end.
TEST(Kernel, LeavesItsEndsToOthers) {
  Simulation s;
  Stream<int> a("a", 2);
  std::vector<bool> seen;
  s.kernels.add("one", s.clock, [&] {
    auto& self = Kernel::current();
    seen.push_back(a.takes());
    a.push(1);
    seen.push_back(a.takes());
    a.push(2);
    self.synchronize();
    seen.push_back(a.takes());
    a.writer.leave(self);
  });
  s.kernels.add("two", s.clock, [&] {
    Kernel::current().pause(10);
    Kernel::current().synchronize();
    EXPECT_FALSE(a.takes());
    a.deepen(3);
    EXPECT_TRUE(a.takes());
    a.push(3);
  });
  s.kernels.add("three", s.clock, [&] {
    EXPECT_FALSE(a.gives());
    Kernel::current().pause(12);
    for (const int expected : {1, 2, 3}) {
      EXPECT_TRUE(a.gives());
      EXPECT_EQ(a.pop(), expected);
    }
    EXPECT_FALSE(a.gives());
  });
  EXPECT_TRUE(s.kernels.run());
  EXPECT_EQ(seen, (std::vector{true, true, false}));
}

/// A word from a component every fourth cycle, and back to it.
struct Echo : Component {
  Stream<std::array<std::uint64_t, 8>>& to;
  Stream<std::array<std::uint64_t, 8>>& from;
  std::vector<Tick> sent, received;
  std::uint64_t next = 0;

  Echo(Simulation& s, Stream<std::array<std::uint64_t, 8>>& out, Stream<std::array<std::uint64_t, 8>>& in)
      : to(out), from(in) {
    const auto id = s.clock.scheduler.add(*this);
    to.writer.bind("echo", s.clock, id);
    from.reader.bind("echo", s.clock, id);
    s.clock.scheduler.wake(id, 0);
  }
  bool step(Tick now) override {
    if (from.can_pop(now)) {
      EXPECT_EQ(from.pop_at(now)[7], 3 * received.size());
      received.push_back(now);
    }
    if (now % 4 == 0 && next < 4 && to.can_push(now)) {
      std::array<std::uint64_t, 8> word{};
      word[7] = next++;
      to.push_at(now, word);
      sent.push_back(now);
    }
    return next < 4;
  }
};

TEST_P(Both, WordsOf512BitsGoToAndFromAComponent) {
  Stream<std::array<std::uint64_t, 8>> in("in"), out("out");
  Echo echo(s, in, out);
  s.kernels.add("triples", s.clock, [&] {
    for (int i = 0; i < 4; ++i) {
      auto word = in.pop();
      word[7] *= 3;
      Kernel::current().pause(2);
      out.push(word);
    }
    Kernel::current().pause(1);
  });
  EXPECT_TRUE(s.kernels.run());
  s.time.advance(s.time.now() + 10);
  EXPECT_EQ(echo.sent, (Ticks{0, 4, 8, 12}));
  EXPECT_EQ(echo.received, (Ticks{4, 8, 12, 16}));
}

TEST(Kernels, AreTenThousandInOneSimulation) {
  constexpr int kKernels = 10'000;
  Simulation s;
  std::vector<std::unique_ptr<Stream<int>>> streams;
  for (int i = 0; i <= kKernels; ++i) streams.push_back(std::make_unique<Stream<int>>("s" + std::to_string(i), 1));
  for (int i = 0; i < kKernels; ++i)
    s.kernels.add("k" + std::to_string(i), s.clock, [&, i] {
      auto &from = *streams[static_cast<std::size_t>(i)], &to = *streams[static_cast<std::size_t>(i) + 1];
      for (int n = 0; n < 3; ++n) to.push(from.pop() + 1);
    });
  std::vector<int> got;
  Tick last = 0;
  s.kernels.add("first", s.clock, [&] {
    for (int n = 0; n < 3; ++n) streams.front()->push(n);
  });
  s.kernels.add("last", s.clock, [&] {
    for (int n = 0; n < 3; ++n) got.push_back(streams.back()->pop());
    last = tick();
  });
  s.kernels.run();
  EXPECT_EQ(got, (std::vector<int>{kKernels, kKernels + 1, kKernels + 2}));
  EXPECT_EQ(last, kKernels + 1 + 2 * 2);  // one cycle per hop; a stream of depth 1 accepts a word every other cycle
}

}  // namespace
}  // namespace thalweg
