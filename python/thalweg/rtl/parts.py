# SPDX-License-Identifier: Apache-2.0
"""Separately Verilated parts of a module, compiled once for all instances: SystemVerilog stubs, and the C++ that they
call.

A part's outputs must be registers of clk_i, independent of inputs in the same cycle, which is checked at run time. A
part is not evaluated while nothing in it changes (rtl/engine/clocked.hpp).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from thalweg.errors import InputError
from thalweg.rtl.ports import CLOCK, RESET, Module, constant


@dataclass(frozen=True)
class Part:
    """A module with parameter values, and the name of the variant; its model is class V<name>."""

    name: str
    parameters: dict[str, str]  #: SystemVerilog literals
    ports: Module


def parameters_of(tree: Path, module: str) -> list[dict[str, str]]:
    """Returns the parameters of a module's variants, from a tree written by `verilator --json-only`."""
    variants = []
    for found in json.loads(tree.read_text())["modulesp"]:
        if found.get("origName") != module:
            continue
        variant = {}
        for variable in found["stmtsp"]:
            if variable["type"] != "VAR" or variable["varType"] != "GPARAM":
                continue
            value = constant(variable["valuep"][0])
            if value is None:
                raise InputError(f"{module}: parameter {variable['origName']} is not a number")
            variant[variable["origName"]] = f"{value[1]}'h{value[0]:x}"
        variants.append(variant)
    return sorted(variants, key=str)


def _ports(part: Part) -> tuple[dict[str, int], dict[str, int]]:
    """Returns inputs except the clock, and outputs, with their widths in bits."""
    inputs = {RESET: 1} | {port.name: port.bits for port in part.ports.ports if not port.output}
    return inputs, {port.name: port.bits for port in part.ports.ports if port.output}


def _stand_in(part: Part) -> list[str]:
    inputs, outputs = _ports(part)
    arguments = [*(f"input bit [{bits - 1}:0] {name}" for name, bits in inputs.items())]
    arguments += [f"output bit [{bits - 1}:0] {name}" for name, bits in outputs.items()]
    declared = [f"input logic {CLOCK}", *(f"input logic [{bits - 1}:0] {name}" for name, bits in inputs.items())]
    declared += [f"output logic [{bits - 1}:0] {name}" for name, bits in outputs.items()]
    return [
        f"module {part.name} ({', '.join(declared)});",
        f'  import "DPI-C" function chandle {part.name}_make(input string scope);',
        f'  import "DPI-C" function void {part.name}_free(input chandle part);',
        f'  import "DPI-C" function void {part.name}_clock(input chandle part, {", ".join(arguments)});',
        "  chandle part;",
        *(f"  bit [{bits - 1}:0] {name}_d;" for name, bits in outputs.items()),
        f'  initial part = {part.name}_make($sformatf("%m"));',
        f"  final {part.name}_free(part);",
        f"  always @(posedge {CLOCK}) begin",
        f"    {part.name}_clock(part, {', '.join([*inputs, *(f'{name}_d' for name in outputs)])});",
        *(f"    {name} <= {name}_d;" for name in outputs),
        "  end",
        "endmodule",
        "",
    ]


def stand_in(source: str, parts: list[Part]) -> str:
    """Returns a stub with the ports and parameters of a module's `source` that instantiates the parts."""
    module = parts[0].ports.name
    head = re.search(rf"^module {module}\b.*?\n\);", source, re.DOTALL | re.MULTILINE)
    if head is None:
        raise InputError(f"{module}: the end of its port list is not on a line of its own")
    lines = [line for part in parts for line in _stand_in(part)] + [head[0]]
    for i, part in enumerate(parts):
        same = " && ".join(f"{name} == {value}" for name, value in part.parameters.items())
        ports = ", ".join(f".{name}({name})" for names in ({CLOCK: 1}, *_ports(part)) for name in names)
        lines += [f"  {'end else ' * bool(i)}if ({same}) begin : is_{i}", f"    {part.name} part ({ports});"]
    lines += ["  end else begin : is_none", f'    $fatal(0, "{module}: this variant was not built");', "  end"]
    return "\n".join([*lines, "endmodule", ""])


def source(part: Part) -> str:
    """Returns the C++ functions called by the stub."""
    inputs, outputs = _ports(part)
    model = f"V{part.name}"
    arguments = [f"const svBitVecVal* {name}" for name in inputs] + [f"svBitVecVal* {name}" for name in outputs]
    changes = " || ".join(f"model.{name} != {name}_q" for name in outputs)
    return "\n".join(
        [
            f"// Makes and clocks a {part.ports.name}.",
            f'#include "{model}__Syms.h"',
            "",
            "#include <svdpi.h>",
            "",
            "#include <memory>",
            "#include <stdexcept>",
            "",
            '#include "bisim/ports.hpp"',
            '#include "engine/clocked.hpp"',
            "",
            "namespace {",
            "struct Part final : engine::Clocked {",
            "  // Made while the whole is evaluated first: the context is that of the whole.",
            "  explicit Part(const char* scope) : model(Verilated::threadContextp(), scope) {",
            "    [[maybe_unused]] auto& root = *model.rootp;",
            "    watch(*root.vlSymsp, {",
            '#include "memories.inc"',
            "    });",
            "  }",
            "  bool evaluate() override {",
            *(f"    const auto {name}_q = model.{name};" for name in outputs),
            f"    model.{CLOCK} = 0;",
            "    model.eval();",
            f"    if (!model.{RESET} && ({changes}))",
            f'      throw std::logic_error("{part.ports.name}: an output depends on inputs of its cycle");',
            f"    model.{CLOCK} = 1;",
            "    model.eval();",
            f"    return {changes};",
            "  }",
            f"  {model} model;",
            "};",
            "}  // namespace",
            "",
            f'extern "C" void* {part.name}_make(const char* scope) {{',
            "  return new Part(scope);",
            "}",
            "",
            f'extern "C" void {part.name}_free(void* part) {{',
            "  const std::unique_ptr<Part> own(static_cast<Part*>(part));",
            "  own->model.final();",
            "}",
            "",
            f'extern "C" void {part.name}_clock(void* part, {", ".join(arguments)}) {{',
            "  Part& own = *static_cast<Part*>(part);",
            "  if (!own.through()) {",
            "    bool other = false;",
            *(f"    other |= bisim::to_signal(own.model.{name}, {name});" for name in inputs),
            "    own.clock(other);",
            "  }",
            *(f"  bisim::from_signal(own.model.{name}, {name});" for name in outputs),
            "}",
            "",
        ]
    )
