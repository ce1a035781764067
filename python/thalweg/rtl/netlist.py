# SPDX-License-Identifier: Apache-2.0
"""Elaborates a proof; a program for `thalweg.rtl.yosys`.

Writes FILE.json, a `Netlist`, and three graphs with a bad state for each assertion and each cover:

* FILE.aig starts as the design does;
* FILE.lemmas.aig too, and assertions that are no `properties` are constraints in it, instead;
* FILE.step.aig starts in any state that has no bad state, and what is bad counts from the second cycle on: the step of an
  induction.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.rtl import yosys as rtl_yosys

if TYPE_CHECKING or __name__ == "__main__":
    from pyosys import libyosys as ys


@dataclass(frozen=True)
class Request(rtl_yosys.Request):
    assumed: list[str]  #: assertions that become assumptions, as patterns
    properties: list[str]  #: as patterns
    output: str  #: path without ending


@dataclass(frozen=True)
class Netlist:
    """What there is to prove."""

    file: str  #: path without ending
    asserted: list[str]  #: all assertions
    covered: list[str]  #: all that is to be reached
    bad: dict[str, list[str]]  #: of each graph (its ending: "", ".lemmas", ".step"), the bad states in their order

    def fitting(self, pattern: str) -> list[str]:
        return [name for name in (*self.asserted, *self.covered) if fnmatchcase(name, pattern)]


TO_REGISTERS = ("memory_map -formal", "async2sync", "chformal -early")
# Registers that nothing initialises start at any value, which no optimisation may choose ($anyinit).
TO_STEPS = ("formalff -clk2ff -ff2anyinit", "opt -full")
FREE = "setundef -undriven -anyseq"  # what has no value, such as a word behind the end of an array, may have any
TO_GATES = (FREE, "formalff -anyinit2ff -fine", "techmap", FREE, "opt -fast", "dffunmap", "aigmap", "clean")


def main() -> None:
    request = rtl_yosys.requested(Request)
    design, run = rtl_yosys.read(request, assertions=True)
    run("flatten")
    module = design.top_module()
    checks = {_label(cell): cell.getParam(ys.IdString("\\FLAVOR")).decode_string() for cell in _cells(module, "check")}
    run("setattr -set keep 1 t:$check")  # two that are equal stay two
    for command in TO_REGISTERS:
        run(command)
    _free_clocks(run, module)
    for command in TO_STEPS:
        run(command)
    _assume(module, request.assumed)
    _negate_covers(module)
    for command in TO_GATES:
        run(command)
    asserted = [label for label, flavor in checks.items() if flavor == "assert" and not fits(label, request.assumed)]
    covered = [label for label, flavor in checks.items() if flavor == "cover"]
    lemmas = {label for label in asserted if not fits(label, request.properties)}
    bad = {"": _write(run, request.output)}
    cells = [cell for cell in _cells(module, "assert") if _label(cell) in lemmas]
    for cell in cells:
        cell.type = ys.IdString("$assume")
    bad[".lemmas"] = _write(run, f"{request.output}.lemmas")
    for cell in cells:
        cell.type = ys.IdString("$assert")
    run("setattr -unset init w:*")
    _make_step(module, [cell for cell in _cells(module, "assert") if _label(cell) in asserted])
    run("setattr -set init 1'0 w:later")
    run("simplemap")
    bad[".step"] = _write(run, f"{request.output}.step")
    netlist = Netlist(request.output, asserted, covered, bad)
    Path(f"{request.output}.json").write_text(json.dumps(asdict(netlist)))


def _write(run: Callable[[str], None], file: str) -> list[str]:
    run(f"write_aiger -B -zinit -ywmap {file}.ywmap {file}.aig")
    asserts = json.loads(Path(f"{file}.ywmap").read_text())["asserts"]
    return [".".join(part.removeprefix("\\") for part in path) for path in asserts]


def fits(label: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(label, pattern) for pattern in patterns)


def _label(cell: ys.Cell) -> str:
    return str(cell.name.str().removeprefix("\\"))


def _cells(module: ys.Module, kind: str) -> list[ys.Cell]:
    return [cell for cell in module.cells_.values() if cell.type.str() == f"${kind}"]


def _free_clocks(run: Callable[[str], None], module: ys.Module) -> None:
    """Of a proof with several clocks: each of them (inputs named NAME_clk_i) has an edge in the steps in which it is 1, and in them
    its registers take their values; everything else goes on in every step."""
    clocks = {
        wire.name.str() for wire in module.wires_.values() if wire.port_input and wire.name.str().endswith("_clk_i")
    }
    if not clocks:
        return
    run(FREE)  # before anything is chosen for what synchronizers leave open
    run("dffunmap")
    run("opt_clean")  # a clock has its own name everywhere
    clock, data, out = (ys.IdString(f"\\{port}") for port in ("CLK", "D", "Q"))
    for cell in _cells(module, "dff"):
        edge, value = cell.getPort(clock), cell.getPort(out)
        if edge.is_wire() and edge.as_wire().name.str() in clocks:
            name = ys.IdString(f"{cell.name.str()}.at_edge")
            cell.setPort(data, module.Mux(name, value, cell.getPort(data), edge))


def _assume(module: ys.Module, patterns: list[str]) -> None:
    for cell in _cells(module, "assert"):
        if fits(_label(cell), patterns):
            cell.type = ys.IdString("$assume")


def _negate_covers(module: ys.Module) -> None:
    """What is to be reached becomes the property that it is not; a counterexample is the way there."""
    port = ys.IdString("\\A")
    for cell in _cells(module, "cover"):
        cell.setPort(port, module.Not(ys.IdString(f"{cell.name.str()}.never"), cell.getPort(port)))
        cell.type = ys.IdString("$assert")


def _make_step(module: ys.Module, asserts: list[ys.Cell]) -> None:
    """Assertions are assumptions in the first cycle, and assertions after it."""
    enable = ys.IdString("\\EN")
    later = module.addWire(ys.IdString("\\later"), 1)
    module.addFfGate(ys.IdString("\\later_ff"), ys.SigSpec(True), ys.SigSpec(later))
    first = module.Not(ys.IdString("\\later.not"), ys.SigSpec(later))
    for cell in asserts:
        name, enabled = cell.name.str(), cell.getPort(enable)
        assumed = module.And(ys.IdString(f"{name}.in_first"), enabled, first)
        module.addAssume(ys.IdString(f"{name}.assumed"), cell.getPort(ys.IdString("\\A")), assumed)
        cell.setPort(enable, module.And(ys.IdString(f"{name}.later"), enabled, ys.SigSpec(later)))


if __name__ == "__main__":
    main()
