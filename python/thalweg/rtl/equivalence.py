# SPDX-License-Identifier: Apache-2.0
"""Sequential equivalence checking of two versions of the RTL, with Yosys and ABC; also a program of `thalweg.rtl.yosys`.

Both versions are cut at their registers and memories. It is proved that, whenever the registers and memories common to
both hold equal values, all outputs are equal (payload if valid), and so are the next values. By induction the versions
cannot be distinguished. The assertions of the original are assumed. Values that the RTL leaves undefined are taken as 0
in both, then as 1.
"""

from __future__ import annotations

import itertools
import subprocess
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.launch import processor_time
from thalweg.rtl import yosys as rtl_yosys
from thalweg.rtl.ports import gates
from thalweg.rtl.project import Block, ParameterSet, Project
from thalweg.rtl.proof import abc

if TYPE_CHECKING or __name__ == "__main__":
    from pyosys import libyosys as ys

TIME_LIMIT = 300  #: seconds of processor time per tool

# a read beyond the end of an array is undefined, which the cells of the last step represent
TO_REGISTERS = (
    "flatten",
    "memory_collect",
    "memory_map -rom-only",
    "async2sync",
    "chformal -early",
    "dffunmap",
    "opt_clean",
    "techmap t:$shiftx",
)
# merge equivalent nodes first, which removes most of the logic
TO_ONE = ("hierarchy -top miter", "flatten", "opt_merge", "simplemap t:$ne", "opt_expr", "opt_clean -purge")
TO_GATES = (*TO_ONE, "techmap", "opt -fast", "aigmap", "opt_clean")
BROKEN = "broken"  #: output of a cut module that is 1 if an assertion fails

_numbers = itertools.count()


@dataclass(frozen=True)
class Request(rtl_yosys.Request):
    changed_sources: list[str]
    changed_folders: list[str]
    gates: dict[str, str]  #: for a payload output, its valid output
    open_values: str  #: value of undefined bits: "zero" or "one"
    output: str  #: path without suffix


def equivalent(original: Project, changed: Project, block: Block, parameters: ParameterSet) -> bool:
    """True if equivalence is proved. Otherwise there may be a difference, or the induction step fails on unreachable
    states.

    Raises BuildError if Yosys rejects the block.
    """
    folder = changed.folder(block, parameters) / "equivalence"
    folder.mkdir(parents=True, exist_ok=True)
    file = Path("rtl") / block.folder / f"{block.module}.sv"
    for value in ("zero", "one"):
        request = Request(
            top=block.module,
            sources=rtl_yosys.sources(original.root, block.folder, original.root / file),
            folders=rtl_yosys.folders(original.root, block.folder, block.rtl),
            parameters=parameters.parameters,
            changed_sources=rtl_yosys.sources(changed.root, block.folder, changed.root / file),
            changed_folders=rtl_yosys.folders(changed.root, block.folder, block.rtl),
            open_values=value,
            gates=gates(original.module(block, parameters)),
            output=str(folder / value),
        )
        try:
            rtl_yosys.start(__name__, request, f"Yosys cannot compare {block.name} ({parameters.name})", TIME_LIMIT)
            if not _is_never_one(f"{request.output}.aig"):
                return False
        except subprocess.TimeoutExpired:
            return False
    return True


def _is_never_one(graph: str) -> bool:
    """True if the output of a combinational graph is proved to be 0."""
    done = processor_time.run([abc(), "-q", f"read_aiger {graph}; strash; iprove"], TIME_LIMIT)
    done.check_returncode()
    return done.stdout.startswith("UNSATISFIABLE")


def main() -> None:
    request = rtl_yosys.requested(Request)
    changed = replace(request, sources=request.changed_sources, folders=request.changed_folders)
    for name, version in (("original", request), ("changed", changed)):
        design, run = rtl_yosys.read(version, assertions=True)
        for command in TO_REGISTERS:
            run(command)
        run(f"setundef -undriven -{request.open_values}")
        _cut(design.top_module())
        run(f"rename {request.top} {name}")
        run(f"write_rtlil {request.output}.{name}.il")
    both = ys.Design()
    for name in ("original", "changed"):
        ys.run_pass(f"read_rtlil {request.output}.{name}.il", both)
    _compare(both, request.gates)
    for command in (*TO_GATES, f"write_aiger {request.output}.aig"):
        ys.run_pass(command, both)


def _cut(module: ys.Module) -> None:
    """Turns contents of registers and memories into inputs, their next values into outputs, and combines all assertions
    into one."""
    broken = ys.SigSpec()
    for cell in list(module.cells_.values()):
        if cell.type.str() == "$dff":
            _cut_register(module, cell)
        elif cell.type.str() == "$mem_v2":
            _cut_memory(module, cell)
        elif cell.type.str() == "$assert":
            wrong = module.Not(_new(), cell.getPort(ys.IdString("\\A")))
            broken.append(module.And(_new(), wrong, cell.getPort(ys.IdString("\\EN"))))
        else:
            continue
        module.remove(cell)
    module.connect(_port(module, BROKEN, 1, output=True), module.ReduceOr(_new(), broken))
    module.fixup_ports()


def _cut_register(module: ys.Module, cell: ys.Cell) -> None:
    held, taken = (cell.getPort(ys.IdString(port)).to_sigbit_vector() for port in ("\\Q", "\\D"))
    for to, by in zip(held, taken, strict=True):
        name = f"{to.wire.name.str()}[{to.offset}]"
        module.connect(ys.SigSpec(to, 1), _port(module, f"{name}.held", 1))
        module.connect(_port(module, f"{name}.taken", 1, output=True), ys.SigSpec(by, 1))


def _cut_memory(module: ys.Module, cell: ys.Cell) -> None:
    # memories that differ in any parameter, such as the number of ports, are not matched
    form = "".join(f"{key.str()}={value.as_string()}" for key, value in cell.parameters.items())
    name = f"{cell.name.str()}.{sha256(form.encode()).hexdigest()}"
    for port, signal in cell.connections_.items():
        if port.str() == "\\RD_DATA":
            module.connect(signal, _port(module, f"{name}.read", signal.size()))
        else:
            module.connect(_port(module, f"{name}.{port.str()}", signal.size(), output=True), signal)


def _compare(design: ys.Design, gates: dict[str, str]) -> None:
    """Creates the module `miter` with shared inputs and one output, which is 1 if the versions differ."""
    miter = design.addModule(ys.IdString("\\miter"))
    outputs: list[dict[str, ys.SigSpec]] = []
    for version in ("\\original", "\\changed"):
        cell = miter.addCell(ys.IdString(version), ys.IdString(version))
        outputs.append({})
        for wire in design.module(ys.IdString(version)).wires_.values():
            if wire.port_input:
                shared = miter.wire(wire.name) or miter.addWire(wire.name, wire.width)
                shared.port_input = True
                cell.setPort(wire.name, ys.SigSpec(shared))
            elif wire.port_output:
                signal = ys.SigSpec(miter.addWire(_new(), wire.width))
                outputs[-1][wire.name.str().removeprefix("\\")] = signal
                cell.setPort(wire.name, signal)
    original, changed = outputs
    unequal = ys.SigSpec()
    for name in sorted(original.keys() & changed.keys() - {BROKEN}):
        sides = []
        for side in outputs:
            signal = side[name]
            if name in gates:
                valid = side[gates[name]]
                lane = signal.size() // valid.size()
                mask = ys.SigSpec([bit for bit in valid.to_sigbit_vector() for _ in range(lane)])
                signal = miter.And(_new(), signal, mask)
            sides.append(signal)
        unequal.append(miter.Ne(_new(), *sides))
    differ = miter.addWire(ys.IdString("\\differ"), 1)
    differ.port_output = True
    legal = miter.Not(_new(), original[BROKEN])
    miter.connect(ys.SigSpec(differ), miter.And(_new(), miter.ReduceOr(_new(), unequal), legal))
    miter.fixup_ports()


def _port(module: ys.Module, name: str, width: int, output: bool = False) -> ys.SigSpec:
    wire = module.addWire(ys.IdString(f"\\{name}"), width)
    wire.port_input, wire.port_output = not output, output
    return ys.SigSpec(wire)


def _new() -> ys.IdString:
    return ys.IdString(f"$equivalence${next(_numbers)}")


if __name__ == "__main__":
    main()
