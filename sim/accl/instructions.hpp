// SPDX-License-Identifier: Apache-2.0
// Instructions of call programs (spec/accl/programs.txt): semantics, and cycles in rtl/accl/tw_sequencer.sv.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/types.hpp"
#include "thalweg_accl_programs.hpp"

namespace thalweg::accl {

using spec::programs::Instruction;
using spec::programs::Register;
using Registers = std::array<std::uint64_t, spec::programs::kRegisters>;

/// A call's position in its program: the next instruction, and the return address of the last `call`.
struct ProgramPosition {
  std::uint16_t next = 0, link = 0;
};

/// Cycles from a runnable call to its next instruction.
inline constexpr Tick kTurnCycles = 4;
/// Cycles to detect that an instruction waits for its call's background move.
inline constexpr Tick kAwaitCycles = 2;

/// True if the instruction waits for the call's background move.
[[nodiscard]] constexpr bool awaits_background(spec::programs::Operation operation) {
  using enum spec::programs::Operation;
  return operation == end || operation == join || operation == start;
}
/// True if the instruction stops its call until a move or the call has ended, or starts a move.
[[nodiscard]] constexpr bool leaves_program(spec::programs::Operation operation) {
  using enum spec::programs::Operation;
  return operation == end || operation == start || operation == move || operation == signal || operation == await_;
}
/// The second operand of an instruction: register b or the immediate.
[[nodiscard]] constexpr std::uint64_t second_of(const Instruction& one, const Registers& registers) {
  return one.immediate >= 0 ? static_cast<std::uint64_t>(one.immediate) : registers[static_cast<std::size_t>(one.b)];
}
/// Cycles until the next instruction, or until the operands of a move or of a call's end are available.
[[nodiscard]] constexpr Tick cycles_of(const Instruction& one, const Registers& registers) {
  using enum spec::programs::Operation;
  switch (one.operation) {
    case end:
    case join:
    case call:
    case return_:
      return 2;
    case eq:
    case ne:
    case lt:
    case ge:
      return 5;
    case mul:  // a cycle per significant bit of b
      return 5 + static_cast<Tick>(std::max(1, static_cast<int>(std::bit_width(second_of(one, registers)))));
    case div:  // a cycle per bit of a register
      return 4 + spec::programs::kRegisterBits;
    case move:
    case start:
    case signal:
    case await_:
      return 7;
    default:
      return 4;
  }
}

/// Executes an instruction that does not leave the program.
constexpr void execute(const Instruction& one, Registers& registers, ProgramPosition& position) {
  using enum spec::programs::Operation;
  constexpr std::uint64_t kMask = (std::uint64_t{1} << spec::programs::kRegisterBits) - 1;
  const std::uint64_t a = registers[static_cast<std::size_t>(one.a)], b = second_of(one, registers);
  const auto write = [&](std::uint64_t value) { registers[static_cast<std::size_t>(one.d)] = value & kMask; };
  const std::uint16_t after = static_cast<std::uint16_t>(position.next + 1);
  const auto jump = [&](bool taken) { return taken ? one.target : after; };
  std::uint16_t next = after;
  switch (one.operation) {
    case set:
      write(b);
      break;
    case copy:
      write(a);
      break;
    case add:
      write(a + b);
      break;
    case sub:
      write(a - b);
      break;
    case xor_:
      write(a ^ b);
      break;
    case mul:
      write(a * b);
      break;
    case div:
      write((b & 0xFFFF) == 0 ? kMask : a / (b & 0xFFFF));
      break;
    case eq:
      next = jump(a == b);
      break;
    case ne:
      next = jump(a != b);
      break;
    case lt:
      next = jump(a < b);
      break;
    case ge:
      next = jump(a >= b);
      break;
    case call:
      position.link = after;
      next = one.target;
      break;
    case return_:
      next = position.link;
      break;
    default:
      break;
  }
  position.next = next;
}

}  // namespace thalweg::accl
