// SPDX-License-Identifier: Apache-2.0
// Runs call programs (spec/accl/programs.txt) up to their next move in one step, with the timing of the hardware's
// sequencer (sequencer.hpp). It runs one call's program at a time.
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
  /// Cycles from a call to the start of its program: its words, one per cycle, lookups in the exchange memory, and its
  /// registers (call_port.hpp); without the cycles of divisions.
  static constexpr Tick kCommand = CallPort::kCycles + 1;
  /// Cycles from there to the first move, if the program starts with one; and from the last move's end to the call's
  /// end.
  static constexpr Tick kFirstMove = kTurnCycles + 7, kEnd = kTurnCycles + 2;

  /// The first idle cycle.
  [[nodiscard]] Tick free() const { return free_; }
  /// Occupies the sequencer for `cycles`, after earlier reservations. Returns the cycle in which they end.
  Tick take(Tick now, Tick cycles) {
    free_ = std::max(free_, now) + cycles;
    return free_;
  }
  /// Runs a call's program up to its next move or its end. A background move is started without a stop.
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
