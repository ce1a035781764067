# SPDX-License-Identifier: Apache-2.0
"""Assembles the programs of ACCL's sequencer (spec/accl/programs.txt, which describes the instructions)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from model import SpecError

REGISTERS = [
    "zero",
    "rank",
    "size",
    "root",
    "next",
    "prev",
    "count",
    "most",
    "flat",
    "part",
    "n",
    "op0",
    "op1",
    "res",
    "spare",
    "e0",
    "e1",
    "er",
    "a",
    "b",
    "c",
    "i",
    "j",
    "k",
    "left",
]
ARITHMETIC = ("add", "sub", "xor", "mul", "div")
JUMPS = ("eq", "ne", "lt", "ge")
OPERATIONS = ("end", "set", "copy", *ARITHMETIC, *JUMPS, "call", "return_", "signal", "await", "move", "start", "join")
SOURCES = ("op0", "op1", "res", "recv", "take")
TARGETS = ("op0", "op1", "res", "send", "give", "put")
OPERAND_KINDS = ("none", "op0", "op1", "res", "recv", "take", "send", "give", "put")
MOST_IMMEDIATE = 15
REGISTER_BITS = 48


@dataclass(frozen=True)
class Operand:
    """An operand or the result of a move: its kind, and the register with its address or rank."""

    kind: str = "none"
    register: str = "zero"


@dataclass(frozen=True)
class Instruction:
    operation: str
    d: str = "zero"
    a: str = "zero"
    b: str = "zero"
    immediate: int | None = None  # in place of b
    target: int = 0  # number of the instruction that a jump leads to
    x: Operand = Operand()
    y: Operand = Operand()
    z: Operand = Operand()
    text: str = ""


@dataclass(frozen=True)
class Programs:
    instructions: tuple[Instruction, ...]
    begin: dict[str, int]  # first instruction by program name


def assemble(path: Path) -> Programs:
    """Assembles a file. Raises SpecError with one line, which names the line's number."""
    lines: list[tuple[int, str, list[str]]] = []  # number, program, words
    begin: dict[str, int] = {}
    labels: dict[tuple[str, str], int] = {}
    program = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if words[0].endswith(":") and len(words) == 1:
            program = words[0][:-1]
            if program in begin:
                raise SpecError(f"{path}:{number}: program {program} stands here twice")
            begin[program] = len(lines)
        elif words[0].startswith("."):
            if len(words) > 1 or (program, words[0]) in labels:
                raise SpecError(f"{path}:{number}: '{' '.join(words)}' is no new label")
            labels[program, words[0]] = len(lines)
        elif not program:
            raise SpecError(f"{path}:{number}: an instruction before the first program")
        else:
            lines.append((number, program, words))
    made = []
    for number, program, words in lines:
        try:
            made.append(_instruction(words, {name: at for (of, name), at in labels.items() if of == program}))
        except ValueError as error:
            raise SpecError(f"{path}:{number}: {error}") from None
    return Programs(tuple(made), begin)


def _instruction(words: list[str], labels: dict[str, int]) -> Instruction:
    name, rest, text = words[0], words[1:], " ".join(words)
    if name in ("move", "start"):
        return _move(name, rest, text)
    if name == "jump":
        name, rest = "eq", ["zero", "zero", *rest]
    count = {"end": 0, "return": 0, "join": 0, "call": 1, "signal": 1, "await": 1, "set": 2, "copy": 2}
    count |= dict.fromkeys((*ARITHMETIC, *JUMPS), 3)
    if name not in count or len(rest) != count[name]:
        raise ValueError(f"'{text}' is no instruction")
    if name in ("end", "join", "return"):
        return Instruction(name + "_" * (name == "return"), text=text)
    if name == "call":
        return Instruction(name, target=_label(rest[0], labels), text=text)
    if name in ("signal", "await"):
        return Instruction(name, a=_register(rest[0]), text=text)
    if name == "set":
        return Instruction(name, d=_register(rest[0]), immediate=_immediate(rest[1]), text=text)
    if name == "copy":
        return Instruction(name, d=_register(rest[0]), a=_register(rest[1]), text=text)
    second = rest[1] if name in JUMPS else rest[2]
    immediate = _immediate(second) if second.isdigit() else None
    b = "zero" if immediate is not None else _register(second)
    if name in JUMPS:
        target = _label(rest[2], labels)
        return Instruction(name, a=_register(rest[0]), b=b, immediate=immediate, target=target, text=text)
    return Instruction(name, d=_register(rest[0]), a=_register(rest[1]), b=b, immediate=immediate, text=text)


def _move(name: str, words: list[str], text: str) -> Instruction:
    if len(words) == 3 and words[1] == ">":
        return Instruction(name, x=_operand(words[0], SOURCES), z=_operand(words[2], TARGETS), text=text)
    if len(words) == 5 and (words[1], words[3]) == ("+", ">"):
        x, y = _operand(words[0], SOURCES), _operand(words[2], SOURCES)
        return Instruction(name, x=x, y=y, z=_operand(words[4], TARGETS), text=text)
    raise ValueError(f"'{text}' is not {name} X > Z or {name} X + Y > Z")


def _operand(word: str, allowed: tuple[str, ...]) -> Operand:
    kind, bracket, register = word.removesuffix("]").partition("[")
    if not bracket or not word.endswith("]") or kind not in allowed:
        raise ValueError(f"'{word}' is none of {', '.join(f'{kind}[r]' for kind in allowed)}")
    return Operand(kind, _register(register))


def _register(word: str) -> str:
    if word not in REGISTERS:
        raise ValueError(f"'{word}' is no register; there are {' '.join(REGISTERS)}")
    return word


def _immediate(word: str) -> int:
    if not word.isdigit() or int(word) > MOST_IMMEDIATE:
        raise ValueError(f"'{word}' is not 0 to {MOST_IMMEDIATE}")
    return int(word)


def _label(word: str, labels: dict[str, int]) -> int:
    if word not in labels:
        raise ValueError(f"'{word}' is no label of the program")
    return labels[word]


def _cpp(operation: str) -> str:
    return operation + "_" * (operation in ("await", "xor"))


def cpp(programs: Programs) -> str:
    """The programs as a C++ header."""

    def operand(of: Operand) -> str:
        return f"{{OperandKind::{of.kind}, Register::{of.register}}}"

    def line(of: Instruction) -> str:
        immediate = of.immediate if of.immediate is not None else -1
        fields = [f"Operation::{_cpp(of.operation)}"]
        fields += [f"Register::{register}" for register in (of.d, of.a, of.b)]
        fields += [str(immediate), str(of.target), operand(of.x), operand(of.y), operand(of.z), f'"{of.text}"']
        return f"    {{{', '.join(fields)}}},"

    begin = "\n".join(f'    {{"{name}", {at}}},' for name, at in programs.begin.items())
    operations = ", ".join(map(_cpp, OPERATIONS))
    return f"""// SPDX-License-Identifier: Apache-2.0
// Generated from spec/accl/programs.txt by spec/generate.py; don't edit.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace thalweg::spec::programs {{

enum class Register : std::uint8_t {{ {", ".join(REGISTERS)} }};
inline constexpr unsigned kRegisters = {len(REGISTERS)}, kRegisterBits = {REGISTER_BITS};
enum class Operation : std::uint8_t {{ {operations} }};
/// What an operand or the result of a move is.
enum class OperandKind : std::uint8_t {{ {", ".join(OPERAND_KINDS)} }};

struct Operand {{
  OperandKind kind;
  Register register_;
}};
struct Instruction {{
  Operation operation;
  Register d, a, b;
  std::int8_t immediate;  ///< in place of b; -1: none
  std::uint16_t target;   ///< of a jump
  Operand x, y, z;
  std::string_view text;
}};

inline constexpr std::array<Instruction, {len(programs.instructions)}> kInstructions{{{{
{chr(10).join(line(of) for of in programs.instructions)}
}}}};

/// Names, and the number of the first instruction.
inline constexpr std::array<std::pair<std::string_view, std::uint16_t>, {len(programs.begin)}> kBegin{{{{
{begin}
}}}};

}}  // namespace thalweg::spec::programs
"""


def sv(programs: Programs) -> str:
    """The programs as a SystemVerilog package, with a read-only memory."""

    def camel(name: str) -> str:
        return name.strip("_").capitalize()

    def enum(name: str, doc: str, prefix: str, values: tuple[str, ...], bits: int) -> str:
        lines = ",\n".join(f"    {prefix}{camel(value)} = {bits}'d{code}" for code, value in enumerate(values))
        return f"  // {doc}\n  typedef enum logic [{bits - 1}:0] {{\n{lines}\n  }} {name};\n"

    address = (len(programs.instructions) - 1).bit_length()

    def line(at: int, of: Instruction) -> str:
        # A move uses the register fields of other instructions, and a message without data has the peer's rank twice.
        moves = of.operation in ("move", "start")
        d, a, b = (of.z.register, of.x.register, of.y.register) if moves else (of.d, of.a, of.b)
        if of.operation in ("signal", "await"):
            d = of.a
        fields = [f"Opcode{camel(of.operation)}"]
        fields += [f"Register{camel(register)}" for register in (d, a, b)]
        fields += [f"1'b{int(of.immediate is not None)}", f"4'd{of.immediate or 0}", f"{address}'d{of.target}"]
        fields += [f"Operand{camel(operand.kind)}" for operand in (of.x, of.y, of.z)]
        return f"      {address}'d{at}: return '{{{', '.join(fields)}}};  // {of.text}"

    registers = enum("register_e", "Of a call.", "Register", tuple(REGISTERS), 5)
    opcodes = enum("opcode_e", "As spec/accl/programs.txt has them.", "Opcode", OPERATIONS, 5)
    kinds = enum("operand_kind_e", "What an operand or the result of a move is.", "Operand", OPERAND_KINDS, 4)
    begin = ",\n".join(
        f"    Program{''.join(map(camel, name.split('_')))} = {address}'d{at}" for name, at in programs.begin.items()
    )
    return f"""// SPDX-License-Identifier: Apache-2.0
// Generated from spec/accl/programs.txt by spec/generate.py; don't edit.
package tw_accl_programs_pkg;
  localparam int unsigned InstructionBits = {address};  // of an instruction's number
  localparam int unsigned RegisterBits = {REGISTER_BITS};

{registers}
{opcodes}
{kinds}
  typedef struct packed {{
    opcode_e operation;
    register_e d, a, b;  // of a move: of its result, operand 0 and operand 1
    logic has_immediate;  // in place of b
    logic [3:0] immediate;
    logic [InstructionBits-1:0] target;  // of a jump
    operand_kind_e x, y, z;
  }} instruction_t;

  // Where programs begin.
  typedef enum logic [InstructionBits-1:0] {{
{begin}
  }} program_e;

  function automatic instruction_t instruction_at(logic [InstructionBits-1:0] address);
    unique case (address)
{chr(10).join(line(at, of) for at, of in enumerate(programs.instructions))}
      default: return instruction_t'('0);
    endcase
  endfunction
endpackage
"""
