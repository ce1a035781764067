// SPDX-License-Identifier: Apache-2.0
// Does the node's program runner issue the moves of the hardware's sequencer, at the same times, for one call?
#include "accl/sequencer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "../../seed.hpp"
#include "accl/program_runner.hpp"

namespace thalweg::accl {
namespace {

using spec::programs::Operation;

struct Offered {
  Tick at = 0;
  std::string text;

  friend bool operator==(const Offered&, const Offered&) = default;
};
void PrintTo(const Offered& one, std::ostream* out) {
  *out << one.at << ": " << one.text;
}

template <class Move>
std::string text(Operation operation, const Move& move) {
  std::string made = std::to_string(static_cast<int>(operation));
  for (const auto at : move.at) made += ' ' + std::to_string(at);
  return made + " n " + std::to_string(move.elements) + (move.continues ? " continues" : "");
}

/// Cycles that moves take: those of the program, and those in the background.
struct Durations {
  Tick move, background;
};

std::vector<Offered> of_runner(const Registers& registers, std::uint16_t program, Tick begin, Durations take) {
  std::vector<Offered> made;
  Context context;
  context.registers = registers;
  context.position.next = program;
  ProgramRunner runner;
  Tick beside_ends = kNever;
  for (Tick now = begin;;) {
    if (context.background.what && beside_ends <= now) {
      context.background = {};
      beside_ends = kNever;
    }
    const bool had_beside = context.background.what != nullptr;
    context.move = {};
    runner.run(context, now);
    if (!had_beside && context.background.what) {
      made.push_back({context.background.resumes_at, text(Operation::start, context.background)});
      beside_ends = context.background.resumes_at + take.background;
    }
    if (context.ending) {
      made.push_back({context.resumes_at, "end"});
      return made;
    }
    if (context.move.what) made.push_back({context.resumes_at, text(context.move.what->operation, context.move)});
    now = context.move.what ? context.resumes_at + take.move : beside_ends;
  }
}

std::vector<Offered> of_sequencer(const Registers& registers, std::uint16_t program, Tick& begin, Durations take) {
  std::vector<Offered> made;
  Sequencer sequencer(2);
  unsigned loaded = 1;
  Tick move_ends = kNever, beside_ends = kNever;
  for (Tick now = 0;; ++now) {
    Sequencer::In in{.load{}, .ended{}, .move_ready = true, .end_ready = true};
    if (loaded < registers.size()) {
      begin = now - 1;  // a load acts one cycle before an end
      in.load = Sequencer::Load{.call = 1,
                                .to = loaded,
                                .data = registers[loaded],
                                .begins = loaded + 1 == registers.size(),
                                .program = program};
      loaded += sequencer.ready();
    }
    if (move_ends <= now) {
      in.ended = Sequencer::Ended{.call = 1};
      move_ends = kNever;
    } else if (beside_ends <= now) {
      in.ended = Sequencer::Ended{.call = 1, .background = true};
      beside_ends = kNever;
    }
    if (const auto* move = sequencer.move()) {
      made.push_back({now, text(move->operation, *move)});
      const bool background = move->operation == Operation::start;
      (background ? beside_ends : move_ends) = now + (background ? take.background : take.move);
    }
    if (sequencer.ends()) {
      made.push_back({now, "end"});
      return made;
    }
    sequencer.step(in);
  }
}

TEST(Sequencer, HasTheMovesAndTimesOfTheRunner) {
  std::mt19937_64 random(test_seed());
  const auto below = [&](std::uint64_t bound) {
    return std::uniform_int_distribution<std::uint64_t>(0, bound - 1)(random);
  };
  std::size_t moves = 0, together = 0;
  for (unsigned run = 0; run < 600; ++run) {
    const auto& [name, program] = spec::programs::kBegin[run % spec::programs::kBegin.size()];
    Registers registers{};
    const auto set = [&](Register to, std::uint64_t value) { registers[static_cast<std::size_t>(to)] = value; };
    const std::uint64_t size = 1 + below(9), rank = below(size), count = below(3) == 0 ? below(4) : below(1 << 20);
    set(Register::rank, rank);
    set(Register::size, size);
    set(Register::root, below(size));
    set(Register::next, rank + 1 < size ? rank + 1 : 0);
    set(Register::prev, (rank > 0 ? rank : size) - 1);
    set(Register::count, count);
    set(Register::n, count);
    set(Register::most, std::max<std::uint64_t>(1, count / (1 + below(3))));
    set(Register::flat, below(2) * count);
    set(Register::part, std::max<std::uint64_t>(1, count / (1 + below(4))));
    set(Register::spare, below(2) * 0x1000);
    for (const Register bytes : {Register::e0, Register::e1, Register::er}) set(bytes, std::uint64_t{1} << below(4));
    for (const Register at : {Register::op0, Register::op1, Register::res}) set(at, below(std::uint64_t{1} << 33));

    // If background moves ended while their program ran, the hardware could continue without another turn.
    const Durations take{.move = 2000, .background = 5000};
    Tick begin = 0;
    const auto expected = of_sequencer(registers, program, begin, take);
    ASSERT_EQ(of_runner(registers, program, begin, take), expected) << name << " of " << size << ", run " << run;
    moves += expected.size();

    // The moves are the same in that case, too.
    const Durations soon{.move = static_cast<Tick>(1 + below(40)), .background = static_cast<Tick>(1 + below(80))};
    const auto hardware = of_sequencer(registers, program, begin, soon);
    const auto simulator = of_runner(registers, program, begin, soon);
    ASSERT_EQ(hardware.size(), simulator.size()) << name << ", run " << run;
    for (std::size_t k = 0; k < hardware.size(); ++k) ASSERT_EQ(hardware[k].text, simulator[k].text) << name;
    together += hardware == simulator;
  }
  EXPECT_GT(moves, 2000);
  EXPECT_GT(together, 300);
}

}  // namespace
}  // namespace thalweg::accl
