# SPDX-License-Identifier: Apache-2.0
"""Elaborates a proof; a program of `thalweg.rtl.yosys`.

Writes FILE.json, a `Netlist`, and three and-inverter graphs with a bad state for each assertion and each cover:

* FILE.aig starts in the initial state of the design;
* FILE.lemmas.aig is the same with assertions other than `properties` as constraints;
* FILE.step.aig starts in any state without a bad state, and counts bad states from the second cycle on: an induction step.
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
    assumed: list[str]  #: patterns of assertions that become assumptions
    properties: list[str]  #: patterns
    output: str  #: path without suffix


@dataclass(frozen=True)
class Netlist:
    """The properties to be proved, and their graphs."""

    file: str  #: path without suffix
    asserted: list[str]  #: names of all assertions
    covered: list[str]  #: names of all covers
    bad: dict[str, list[str]]  #: bad states, in order, of each graph (by suffix: "", ".lemmas", ".step")

    def fitting(self, pattern: str) -> list[str]:
        return [name for name in (*self.asserted, *self.covered) if fnmatchcase(name, pattern)]


TO_REGISTERS = ("memory_map -formal", "async2sync", "chformal -early")
# uninitialized registers start with any value, which no optimization may choose ($anyinit)
# One turn of `opt -full`, which repeats them while anything changes: later turns took most of the time, and ABC simplifies the graph anyway
OPTIMIZE = ("opt_expr", "opt_merge -share_all", "opt_muxtree", "opt_reduce -full", "opt_share", "opt_dff", "opt_clean")
TO_STEPS = ("formalff -clk2ff -ff2anyinit", *OPTIMIZE)
FREE = "setundef -undriven -anyseq"  # undefined values, such as a word beyond the end of an array, may be anything
TO_GATES = (FREE, "formalff -anyinit2ff -fine", "techmap", FREE, "opt -fast", "dffunmap", "aigmap", "clean")


def main() -> None:
    request = rtl_yosys.requested(Request)
    design, run = rtl_yosys.read(request, assertions=True)
    run("flatten")
    module = design.top_module()
    checks = {_label(cell): cell.getParam(ys.IdString("\\FLAVOR")).decode_string() for cell in _cells(module, "check")}
    run("setattr -set keep 1 t:$check")  # keeps equal assertions separate
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
    """For a proof with several clocks: each clock (input NAME_clk_i) has an edge in the steps in which it is 1.

    Its registers are updated in these steps only; all else is evaluated in every step.
    """
    clocks = {
        wire.name.str() for wire in module.wires_.values() if wire.port_input and wire.name.str().endswith("_clk_i")
    }
    if not clocks:
        return
    run(FREE)  # before optimizations choose values for undefined outputs of synchronizers
    run("dffunmap")
    run("opt_clean")  # a clock has the same name everywhere
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
    """Turns covers into assertions of unreachability, whose counterexamples reach them."""
    port = ys.IdString("\\A")
    for cell in _cells(module, "cover"):
        cell.setPort(port, module.Not(ys.IdString(f"{cell.name.str()}.never"), cell.getPort(port)))
        cell.type = ys.IdString("$assert")


def _make_step(module: ys.Module, asserts: list[ys.Cell]) -> None:
    """Turns assertions into assumptions in the first cycle, and assertions later."""
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
