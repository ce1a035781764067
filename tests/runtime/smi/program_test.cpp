// SPDX-License-Identifier: Apache-2.0
// Do smi.h's calls fulfil their contracts, over ideal endpoints, and is wrong use reported, with its line?
#include "smi/program.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "ideal.hpp"

namespace thalweg::smi {
namespace {

enum Type { kInt = 1, kFloat = 2, kDouble = 3, kChar = 4, kShort = 5 };

struct Comm {
  int of[4];
};

Comm world() {
  Comm comm{};
  smi_calls().world(comm.of);
  return comm;
}

/// A channel as kernels have it, and its calls.
class Handle {
 public:
  Handle(smi__kind kind, int count, int type, int to, int port, Comm comm, int line, int degree = -1, int op = 0) {
    const smi__open open{.kind = kind,
                         .count = count,
                         .other_count = count,
                         .type = type,
                         .op = op,
                         .peer = to,
                         .root = to,
                         .port = port,
                         .degree = degree,
                         .comm = comm.of,
                         .location = {"kernel.cl", static_cast<unsigned>(line)}};
    smi_calls().open(state_, &open);
  }
  template <class T>
  void push(T value, int type, int line, bool flush = false) {
    smi_calls().push(state_, {&value, type, sizeof value}, flush, {"kernel.cl", static_cast<unsigned>(line)});
  }
  template <class T>
  T pop(int type, int line) {
    T value{};
    smi_calls().pop(state_, {&value, type, sizeof value}, {"kernel.cl", static_cast<unsigned>(line)});
    return value;
  }
  int collective(smi__kind kind, int send, int line, int received = -1) {
    smi_calls().collective(state_, kind, {&send, kInt, 4}, {kind == SMI__BCAST ? &send : &received, kInt, 4},
                           {"kernel.cl", static_cast<unsigned>(line)});
    return kind == SMI__BCAST ? send : received;
  }

 private:
  alignas(8) std::byte state_[64]{};
};

class ProgramTest : public testing::Test {
 protected:
  void make(unsigned ranks, const std::vector<EndpointOf>& endpoints, const Program::Config& config = {}) {
    clock = &time.add({.period = 1});
    ideal = std::make_unique<Ideal>(time, *clock, ranks, endpoints);
    program = std::make_unique<Program>(time, *clock, config, ideal->ports());
  }
  template <class Expected>
  std::string failure() {
    try {
      program->run();
    } catch (const Expected& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

  Domains time;
  Domain* clock = nullptr;
  std::unique_ptr<Ideal> ideal;
  std::unique_ptr<Program> program;
};

constexpr EndpointOf kPush{.kind = EndpointKind::push, .port = 3}, kPop{.kind = EndpointKind::pop, .port = 3};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(ProgramTest, MovesElementsOfAllTypesOneACycle) {
  make(2, {kPush, kPop});
  Tick begun = 0, ended = 0;
  program->start(0, "send", [&] {
    for (const int type : {kInt, kFloat, kDouble, kChar, kShort}) {
      Handle channel(SMI__SEND, 100, type, 1, 3, world(), 1);
      if (type == kInt) begun = Kernel::current().cycle();
      for (int i = 0; i < 100; ++i) {
        if (type == kInt) channel.push<int>(-i, type, 2);
        if (type == kFloat) channel.push<float>(-0.5F * static_cast<float>(i), type, 2);
        if (type == kDouble) channel.push<double>(0.1 * i, type, 2);
        if (type == kChar) channel.push<char>(static_cast<char>(i), type, 2);
        if (type == kShort) channel.push<short>(static_cast<short>(i * 300), type, 2);
      }
      if (type == kInt) ended = Kernel::current().cycle();
    }
  });
  int wrong = 0;
  program->start(1, "receive", [&] {
    for (const int type : {kInt, kFloat, kDouble, kChar, kShort}) {
      Handle channel(SMI__RECEIVE, 100, type, 0, 3, world(), 3);
      for (int i = 0; i < 100; ++i) {
        if (type == kInt) wrong += channel.pop<int>(type, 4) != -i;
        if (type == kFloat) wrong += channel.pop<float>(type, 4) != -0.5F * static_cast<float>(i);
        if (type == kDouble) wrong += channel.pop<double>(type, 4) != 0.1 * i;
        if (type == kChar) wrong += channel.pop<char>(type, 4) != static_cast<char>(i);
        if (type == kShort) wrong += channel.pop<short>(type, 4) != static_cast<short>(i * 300);
      }
    }
  });
  program->run();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(ended - begun, 105);
  EXPECT_GE(ended - begun, 99);
  EXPECT_EQ(program->elements(), 1000U);
  EXPECT_TRUE(program->warnings().empty());
}

TEST_F(ProgramTest, CollectivesGiveEachRankItsPart) {
  const std::vector<EndpointOf> ports{{.kind = EndpointKind::broadcast, .port = 0},
                                      {.kind = EndpointKind::scatter, .port = 1},
                                      {.kind = EndpointKind::gather, .port = 2},
                                      {.kind = EndpointKind::reduce, .port = 4}};
  make(5, ports);
  int wrong = 0;
  constexpr int kCount = 6;
  for (unsigned rank = 0; rank < 5; ++rank)
    program->start(rank, "app", [&] {
      const auto all = world();
      const int own = all.of[0], size = all.of[1];
      for (const int root : {0, 3}) {
        Handle broadcast(SMI__BCAST, kCount, kInt, root, 0, all, 1);
        for (int i = 0; i < kCount; ++i)
          wrong += broadcast.collective(SMI__BCAST, own == root ? 10 * root + i : 0, 2) != 10 * root + i;
        Handle scatter(SMI__SCATTER, kCount, kInt, root, 1, all, 3);
        for (int i = 0; i < (own == root ? kCount * size : kCount); ++i) {
          const int got = scatter.collective(SMI__SCATTER, i, 4);
          if (own != root) wrong += got != own * kCount + i;
          if (own == root && i / kCount == own) wrong += got != i;
        }
        Handle gather(SMI__GATHER, kCount, kInt, root, 2, all, 5);
        for (int i = 0; i < (own == root ? kCount * size : kCount); ++i) {
          // The root's own elements are those of its turn.
          const int got = gather.collective(SMI__GATHER, own == root ? i : own * kCount + i, 6);
          if (own == root) wrong += got != i;
        }
        Handle reduce(SMI__REDUCE, kCount, kInt, root, 4, all, 7);
        for (int i = 0; i < kCount; ++i) {
          const int got = reduce.collective(SMI__REDUCE, own + i, 8);
          if (own == root) wrong += got != 10 + 5 * i;
        }
      }
    });
  program->run();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ProgramTest, CommunicatorsOfRanksApart) {
  make(7, {kPush, kPop, {.kind = EndpointKind::broadcast, .port = 0}});
  int wrong = 0;
  for (unsigned rank = 1; rank < 7; rank += 2)
    program->start(rank, "app", [&, rank] {
      auto comm = world();
      smi_calls().range(comm.of, 1, 2, 3, {"kernel.cl", 1});
      wrong += comm.of[0] != static_cast<int>(rank / 2) || comm.of[1] != 3;
      Handle broadcast(SMI__BCAST, 4, kInt, 2, 0, comm, 2);
      for (int i = 0; i < 4; ++i) wrong += broadcast.collective(SMI__BCAST, rank == 5 ? i : -1, 3) != i;
      smi_calls().range(comm.of, 2, -1, 3, {"kernel.cl", 4});
      if (rank == 1) {
        Handle out(SMI__SEND, 1, kInt, 0, 3, comm, 5);
        out.push<int>(42, kInt, 6);
      } else if (rank == 5) {
        Handle in(SMI__RECEIVE, 1, kInt, 2, 3, comm, 7);
        wrong += in.pop<int>(kInt, 8) != 42;
      }
    });
  program->run();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ProgramTest, ChoosesCreditsWhereTheMessageExceedsTheDegree) {
  make(2, {kPush, kPop}, {.eager = false});
  program->start(0, "send", [&] {
    for (const int degree : {-1, 1000, 10, 3, 0}) {
      Handle channel(SMI__SEND, 100, kInt, 1, 3, world(), 1, degree);
      for (int i = 0; i < 100; ++i) channel.push<int>(i, kInt, 2);
    }
  });
  program->start(1, "receive", [&] {
    for (const int degree : {-1, 1000, 10, 3, 0}) {
      Handle channel(SMI__RECEIVE, 100, kInt, 0, 3, world(), 3, degree);
      for (int i = 0; i < 100; ++i) static_cast<void>(channel.pop<int>(kInt, 4));
    }
  });
  program->run();
  std::vector<std::pair<unsigned, unsigned>> sent;
  for (const auto& [rank, open] : ideal->opened)
    if (rank == 0) sent.emplace_back(open.window, open.per_packet);
  const std::vector<std::pair<unsigned, unsigned>> expected{{0, 7}, {0, 7}, {1, 7}, {1, 3}, {1, 1}};
  EXPECT_EQ(sent, expected);
}

/// Circuits carry messages that would be eager and exceed a packet: 7 integers with a header, then 8.
TEST_F(ProgramTest, ChoosesCircuitsWhereAnEagerMessageExceedsAPacket) {
  make(2, {kPush, kPop}, {.eager = false, .circuits = true});
  constexpr std::array<std::pair<int, int>, 6> kMessages{{{7, 50}, {8, 50}, {9, 50}, {48, 50}, {50, 50}, {51, 50}}};
  program->start(0, "send", [&] {
    for (const auto& [count, degree] : kMessages) {
      Handle channel(SMI__SEND, count, kInt, 1, 3, world(), 1, degree);
      for (int i = 0; i < count; ++i) channel.push<int>(i, kInt, 2, count == 7);
    }
  });
  program->start(1, "receive", [&] {
    for (const auto& [count, degree] : kMessages) {
      Handle channel(SMI__RECEIVE, count, kInt, 0, 3, world(), 3, degree);
      for (int i = 0; i < count; ++i) static_cast<void>(channel.pop<int>(kInt, 4));
    }
  });
  program->run();
  std::vector<std::pair<unsigned, unsigned>> sent;
  for (const auto& [rank, open] : ideal->opened)
    if (rank == 0) sent.emplace_back(open.window, open.packets);
  const std::vector<std::pair<unsigned, unsigned>> expected{{0, 0}, {0, 1}, {0, 2}, {0, 6}, {0, 7}, {7, 0}};
  EXPECT_EQ(sent, expected);
}

TEST_F(ProgramTest, RefusesToFlushACircuit) {
  make(2, {kPush, kPop}, {.circuits = true});
  program->start(0, "send", [] {
    Handle channel(SMI__SEND, 20, kInt, 1, 3, world(), 10);
    channel.push<int>(1, kInt, 11);
    channel.push<int>(1, kInt, 12, true);
  });
  const auto said = failure<Misuse>();
  EXPECT_TRUE(has(said, "kernel.cl:12: rank 0, kernel send: SMI_Push_flush: the message (kernel.cl:10) is a circuit"))
      << said;
}

TEST_F(ProgramTest, AKernelThatNobodySendsToServes) {
  make(2, {kPush, kPop});
  program->start(
      0, "border",
      [&] {
        Handle channel(SMI__RECEIVE, 4, kInt, -1, 3, world(), 1);
        static_cast<void>(channel.pop<int>(kInt, 2));
      },
      true);
  program->start(1, "app", [&] { Handle unused(SMI__SEND, 4, kInt, 2, 3, world(), 3); });
  program->run();
  EXPECT_TRUE(program->started()[1].ended);
}

TEST_F(ProgramTest, NamesWrongUse) {
  struct Case {
    std::string says;
    std::function<void()> zero, one;
  };
  const auto nothing = [] {};
  const auto sends = [](int count, int type, int line) {
    return [=] {
      Handle channel(SMI__SEND, count, type, 1, 3, world(), line);
      for (int i = 0; i < count; ++i) channel.push<int>(i, 0, line + 1);
    };
  };
  const std::vector<Case> cases{
      {"kernel.cl:11: rank 0, kernel zero: the channel has 2 elements (kernel.cl:10), and this is one more",
       [] {
         Handle channel(SMI__SEND, 2, kInt, 1, 3, world(), 10);
         for (int i = 0; i < 3; ++i) channel.push<int>(i, kInt, 11);
       },
       nothing},
      {"kernel.cl:10: rank 0, kernel zero: SMI_Open_send_channel: the rank has no port 4 for push; it has 3 push, 3 "
       "pop",
       [] { Handle channel(SMI__SEND, 2, kInt, 1, 4, world(), 10); }, nothing},
      {"kernel.cl:12: rank 0, kernel zero: this opens a channel on port 3 (push), but of the previous one "
       "(kernel.cl:10) only 1 of 2",
       [] {
         Handle first(SMI__SEND, 2, kInt, 1, 3, world(), 10);
         first.push<int>(1, kInt, 11);
         Handle second(SMI__SEND, 2, kInt, 1, 3, world(), 12);
         second.push<int>(1, kInt, 13);
       },
       nothing},
      {"kernel.cl:10: rank 0, kernel zero: the kernel has ended, and of the channel that this opens on port 3 only 1 "
       "of 2",
       [] {
         Handle first(SMI__SEND, 2, kInt, 1, 3, world(), 10);
         first.push<int>(1, kInt, 11);
       },
       nothing},
      {"disagree on its type: SMI_INT (rank 0, kernel zero, kernel.cl:10) and SMI_FLOAT (rank 1, kernel one, "
       "kernel.cl:20)",
       sends(2, kInt, 10),
       [] {
         Handle channel(SMI__RECEIVE, 2, kFloat, 0, 3, world(), 20);
         static_cast<void>(channel.pop<float>(kFloat, 21));
       }},
      {"disagree on its count: 2 (rank 0, kernel zero, kernel.cl:10) and 3 (rank 1, kernel one, kernel.cl:20)",
       sends(2, kInt, 10),
       [] {
         Handle channel(SMI__RECEIVE, 3, kInt, 0, 3, world(), 20);
         static_cast<void>(channel.pop<int>(kInt, 21));
       }},
      {"unknown datatype 9", [] { Handle channel(SMI__SEND, 2, 9, 1, 3, world(), 10); }, nothing},
      {"the rank to push to does not exist",
       [] {
         Handle channel(SMI__SEND, 2, kInt, 2, 3, world(), 10);
         channel.push<int>(1, kInt, 11);
       },
       nothing},
      {"has no ranks 1, 3",
       [] {
         auto comm = world();
         smi_calls().range(comm.of, 1, 2, 2, {"kernel.cl", 5});
       },
       nothing},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.says);
    program.reset();
    ideal.reset();
    make(2, {kPush, kPop});
    program->start(0, "zero", each.zero);
    program->start(1, "one", each.one);
    const auto said = failure<Misuse>();
    EXPECT_TRUE(has(said, each.says)) << said;
  }
}

TEST_F(ProgramTest, RanksThatDisagreeOnTheDegreeOfAReduction) {
  make(2, {{.kind = EndpointKind::reduce, .port = 4}});
  for (unsigned rank = 0; rank < 2; ++rank)
    program->start(rank, "app", [rank] {
      Handle channel(SMI__REDUCE, 100, kInt, 0, 4, world(), 10, rank == 0 ? 5 : 7);
      for (int i = 0; i < 100; ++i) channel.collective(SMI__REDUCE, i, 11);
    });
  const auto said = failure<Misuse>();
  EXPECT_TRUE(has(said, "which follows from the asynchronicity degree: 5 (rank 0")) << said;
}

TEST_F(ProgramTest, TwoKernelsAtOnePort) {
  make(2, {kPush, kPop});
  for (const auto* name : {"first", "second"})
    program->start(0, name, [] {
      Handle channel(SMI__SEND, 2, kInt, 1, 3, world(), 10);
      channel.push<int>(1, kInt, 11);
      channel.push<int>(1, kInt, 11);
    });
  const auto said = failure<Misuse>();
  EXPECT_TRUE(has(said, "kernel second: port 3 (push) is used by kernel first, too, at kernel.cl:11")) << said;
}

TEST_F(ProgramTest, WarnsOnceOfAVariableOfAnotherType) {
  make(2, {kPush, kPop});
  program->start(0, "send", [] {
    Handle channel(SMI__SEND, 5, kFloat, 1, 3, world(), 10);
    for (int i = 0; i < 5; ++i) channel.push<int>(i, kInt, 11);
  });
  int wrong = 0;
  program->start(1, "receive", [&] {
    Handle channel(SMI__RECEIVE, 5, kFloat, 0, 3, world(), 20);
    for (int i = 0; i < 5; ++i) wrong += channel.pop<int>(0, 21) != i;
  });
  program->run();
  EXPECT_EQ(wrong, 0);
  ASSERT_EQ(program->warnings().size(), 1U);
  EXPECT_TRUE(
      has(program->warnings()[0],
          "kernel.cl:11: kernel send: the channel (kernel.cl:10) is of SMI_FLOAT, the variable is one of SMI_INT"));
}

TEST_F(ProgramTest, ReportsTheCircleOfADeadlock) {
  make(3, {kPush, kPop});
  for (unsigned rank = 0; rank < 3; ++rank)
    program->start(rank, "app", [rank] {
      const int next = static_cast<int>((rank + 1) % 3), before = static_cast<int>((rank + 2) % 3);
      Handle in(SMI__RECEIVE, 1, kInt, before, 3, world(), 10);
      Handle out(SMI__SEND, 1, kInt, next, 3, world(), 11);
      out.push<int>(in.pop<int>(kInt, 12), kInt, 13);
    });
  const auto said = failure<Stuck>();
  const auto round = said.substr(said.find("wait-for cycle:"));
  EXPECT_TRUE(has(round,
                  "kernel app of rank 0 has waited since cycle 0 to pop from rank 2, port 3, element 1 of 1, for "
                  "kernel app of rank 2"))
      << said;
  EXPECT_TRUE(has(round, "for kernel app of rank 0")) << said;
  EXPECT_TRUE(has(round, "for kernel app of rank 1")) << said;
  EXPECT_TRUE(has(round, "(kernel.cl:12)")) << said;
}

}  // namespace
}  // namespace thalweg::smi
