// SPDX-License-Identifier: Apache-2.0
// Runs the programs of calls (spec/accl/programs.txt) up to their next move in one step, with the times of the hardware's sequencer (sequencer.hpp). One
// call's program has it at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "accl/call_port.hpp"
#include "accl/context.hpp"
#include "accl/instructions.hpp"
#include "core/types.hpp"

namespace thalweg::accl {

class ProgramRunner {
 public:
  /// Cycles for a call until its program begins: its words, one a cycle, lookups in the exchange memory, and its registers (call_port.hpp); beside
  /// those in which quotients are counted.
  static constexpr Tick kCommand = CallPort::kCycles + 1;
  /// Then until the first move of a program that begins with one; and from a last move's end to the call's.
  static constexpr Tick kFirstMove = kTurnCycles + 7, kEnd = kTurnCycles + 2;

  /// The cycle from which on it is idle.
  [[nodiscard]] Tick free() const { return free_; }
  /// The cycle in which so many cycles of it are over, behind those that it has promised to others.
  Tick take(Tick now, Tick cycles) {
    free_ = std::max(free_, now) + cycles;
    return free_;
  }
  /// Runs a call's program up to its next move, or to its end. A background move is started on the way.
  void run(Context& context, Tick now) {
    using enum spec::programs::Operation;
    for (Tick cycles = kTurnCycles;;) {
      const Instruction& one = spec::programs::kInstructions[context.position.next];
      if (awaits_background(one.operation) &&
          context.background.what) {  // it continues when the background move has ended
        take(now, cycles + kAwaitCycles);
        context.resumes_at = kNever;
        return;
      }
      cycles += cycles_of(one, context.registers);
      if (!leaves_program(one.operation)) {
        execute(one, context.registers, context.position);
        continue;
      }
      ++context.position.next;
      if ((one.operation == move || one.operation == start) && context[Register::n] == 0) continue;
      context.resumes_at = take(now, cycles);
      if (one.operation == end) {
        context.resumes_at = std::max(context.resumes_at, context.effects);
        context.ending = true;
        return;
      }
      begin(context, one.operation == start ? context.background : context.move, one);
      if (one.operation != start) return;
      cycles = 1;
    }
  }

 private:
  static void begin(Context& context, Move& move, const Instruction& one) {
    move = {};
    move.what = &one;
    const bool is_move =
        one.operation != spec::programs::Operation::signal && one.operation != spec::programs::Operation::await_;
    move.at = is_move ? std::array{context[one.x.register_], context[one.y.register_], context[one.z.register_]}
                      : std::array{context[one.a], std::uint64_t{0}, context[one.a]};
    move.elements = is_move ? context[Register::n] : 0;
    move.continues = context[Register::left] > context[Register::n];
    move.resumes_at = context.resumes_at;
  }

  Tick free_ = 0;
};

}  // namespace thalweg::accl
