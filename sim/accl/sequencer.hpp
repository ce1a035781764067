// SPDX-License-Identifier: Apache-2.0
// Runs the programs of calls (spec/accl/programs.txt), an instruction a cycle. One call's program has it at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "accl/context.hpp"
#include "core/types.hpp"

namespace thalweg::accl {

class Sequencer {
 public:
  /// Cycles for a call until its program begins: its words, one a cycle, and lookups in the exchange memory.
  static constexpr Tick kCommand = kCallWords + 8;

  /// The cycle from which on it is idle.
  [[nodiscard]] Tick free() const { return free_; }
  /// The cycle in which so many cycles of it are over, behind those that it has promised to others.
  Tick take(Tick now, Tick cycles) {
    free_ = std::max(free_, now) + cycles;
    return free_;
  }
  /// Runs a call's program up to its next move, or to its end.
  void run(Context& context, Tick now) {
    using enum spec::programs::Operation;
    for (Tick cycles = 1;; ++cycles) {
      const Instruction& one = spec::programs::kInstructions[context.next];
      const std::uint64_t a = context[one.a],
                          b = one.immediate >= 0 ? static_cast<std::uint64_t>(one.immediate) : context[one.b];
      ++context.next;
      switch (one.operation) {
        case set:
          context[one.d] = b;
          break;
        case copy:
          context[one.d] = a;
          break;
        case add:
          context[one.d] = a + b;
          break;
        case sub:
          context[one.d] = a - b;
          break;
        case xor_:
          context[one.d] = a ^ b;
          break;
        case mul:
          context[one.d] = a * b;
          cycles += kMultiply;
          break;
        case div:
          context[one.d] = b == 0 ? 0 : a / b;
          cycles += kDivide;
          break;
        case eq:
          if (a == b) context.next = one.target;
          break;
        case ne:
          if (a != b) context.next = one.target;
          break;
        case lt:
          if (a < b) context.next = one.target;
          break;
        case ge:
          if (a >= b) context.next = one.target;
          break;
        case call:
          context.link = context.next;
          context.next = one.target;
          break;
        case return_:
          context.next = context.link;
          break;
        case end:
        case join:
        case start:
          if (context.beside.what) {  // it continues when the background move has ended
            --context.next;
            context.goes_on = kNever;
            return;
          }
          context.goes_on = take(now, cycles);
          if (one.operation == join) return;
          if (one.operation == start) {
            if (context[Register::n] > 0) begin(context, context.beside, one);
            return;
          }
          context.goes_on = std::max(context.goes_on, context.effects);
          context.ending = true;
          return;
        case signal:
        case await_:
        case move:
          context.goes_on = take(now, cycles);
          if (one.operation != move || context[Register::n] > 0) begin(context, context.move, one);
          return;
      }
    }
  }

 private:
  static constexpr Tick kMultiply = 3, kDivide = 32;  ///< cycles more, of a product and a quotient

  static void begin(Context& context, Move& move, const Instruction& one) {
    move = {};
    move.what = &one;
    const bool is_move =
        one.operation != spec::programs::Operation::signal && one.operation != spec::programs::Operation::await_;
    move.at = is_move ? std::array{context[one.x.register_], context[one.y.register_], context[one.z.register_]}
                      : std::array{context[one.a], std::uint64_t{0}, context[one.a]};
    move.elements = is_move ? context[Register::n] : 0;
    move.continues = context[Register::left] > context[Register::n];
    move.goes_on = context.goes_on;
  }

  Tick free_ = 0;
};

}  // namespace thalweg::accl
