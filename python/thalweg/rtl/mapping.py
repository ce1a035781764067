# SPDX-License-Identifier: Apache-2.0
"""Maps a block to an FPGA's cells: writes the number of cells of each type in each of its modules or the levels of its logic as JSON,
or the netlist for place and route.

A program for `thalweg.rtl.yosys`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.rtl import yosys as rtl_yosys
from thalweg.rtl.levels import levels

if TYPE_CHECKING or __name__ == "__main__":
    from pyosys import libyosys as ys

CLOCK = "clk_i"
# Of abc9, for levels: by default it minimises the delays of an Artix-7's pins, without wires, in which five LUTs of few inputs are
# faster than four of six. With wires of 5 ns each LUT costs the same.
LEVELS_SCRIPT = "+&scorr;&sweep;&dc2;&dch,-f,-r;&ps;&if,-W,5000,-v;&mfs"
WIDE = 5  #: inputs from which on a multiplexer is made of the slices' own (MUXF7, MUXF8) and LUTs, not of LUTs alone
INSIDE = "_inside"  #: ends the name of what lies between a port's register and the block


@dataclass(frozen=True)
class Request(rtl_yosys.Request):
    parts: list[str]  #: modules that stay modules, mapped once for all instances that are equal
    cells: str = ""  #: file for the number of cells of each type after mapping for UltraScale+, by module
    levels: str = ""  #: or else: file for the `Levels` after mapping for UltraScale+ with the fewest of them
    netlist: str = ""  #: or else: file for the netlist for ECP5


def main() -> None:
    request = rtl_yosys.requested(Request)
    output = Path(request.cells or request.levels or request.netlist)
    design, run = rtl_yosys.read(request, assertions=False, whole=not request.parts)
    if request.parts:
        file = output.with_suffix(".il")
        run(f"write_rtlil {file}")
        _share(design, equal_modules(file.read_text()))
        run(f"hierarchy -check -top {request.top}")
        _keep(design, set(request.parts) - {request.top})
    if request.netlist:
        _register_ports(design.top_module())
        run(f"synth_lattice -family ecp5 -top {request.top} -json {request.netlist}")
        return
    if request.levels:
        run(f"scratchpad -set abc9.script {LEVELS_SCRIPT}")
    _map(design, run, request)
    run("delete */t:$scopeinfo")
    output.write_text(json.dumps(_levels(run, request) if request.levels else _cells(run, request)))


def _map(design: ys.Design, run: Callable[[str], None], request: Request) -> None:
    """To cells of UltraScale+. For each module that abc9 maps, Yosys rewrites the whole design: so each module is mapped in a design of
    its own, in which the others are black boxes."""
    synth = f"synth_xilinx -family xcup -noiopad -noclkbuf -widemux {WIDE} -top {request.top}"
    if not request.parts:
        run(f"{synth} -flatten")
        return
    run(f"{synth} -flatten -run :map_luts")
    modules = [module.name.str() for module in design.modules_.values() if not module.get_blackbox_attribute()]
    run("design -save whole")
    run(f"blackbox {' '.join(modules)}")
    run("design -save boxes")
    for module in modules:
        run("design -load boxes")
        run(f"design -copy-from whole -as {module} {module}")
        run(f"{synth} -run map_luts:check")
        run(f"design -copy-to whole -as {module} {module}")
    run("design -load whole")
    run(f"{synth} -run check:edif")


def _cells(run: Callable[[str], None], request: Request) -> dict[str, dict[str, int]]:
    report = Path(request.cells).with_suffix(".stat")
    run(f"tee -q -o {report} stat -json")
    modules = json.loads(report.read_text())["modules"]
    return {name.removeprefix("\\"): module["num_cells_by_type"] for name, module in modules.items()}


def _levels(run: Callable[[str], None], request: Request) -> dict[str, Any]:
    """Of the whole, without the borders of modules."""
    run("setattr -mod -unset keep_hierarchy *")
    run("flatten")
    run("opt_clean")
    netlist = Path(request.levels).with_suffix(".netlist")
    run(f"write_json {netlist}")
    found = levels(json.loads(netlist.read_text())["modules"][request.top])
    netlist.unlink()
    return asdict(found)


def equal_modules(text: str) -> dict[str, str]:
    """Of the modules of a design in RTLIL, the first one that is equal, but for names that Yosys gave."""
    bodies: dict[str, str] = {}
    for part in re.split(r"(?m)^(?=(?:attribute .*\n)*module )", text):
        if found := re.search(r"(?m)^module (\S+)$", part):
            bodies[found[1]] = re.sub(r"(?m)^\s*attribute .*\n", "", part)
    first: dict[str, str] = {}
    seen: dict[tuple[str, str], str] = {}

    def visit(name: str) -> str:
        """Modules within come first, so that those that are equal have one name."""
        if name not in bodies or name in first:
            return first.get(name, name)
        numbers: dict[str, int] = {}

        def normal(found: re.Match[str]) -> str:
            if found["type"]:
                return f"cell {visit(found['type'])}"
            return f"${numbers.setdefault(found[0], len(numbers))}"

        body = bodies[name].replace(f"module {name}", "module", 1)
        body = re.sub(r'cell (?P<type>\S+)|\$[^\s"]+', normal, body)
        kind = name.partition("$")[0]
        first[name] = seen.setdefault((kind, body), name)
        return first[name]

    for name in bodies:
        visit(name)
    return first


def _share(design: ys.Design, first: dict[str, str]) -> None:
    for module in design.modules_.values():
        for cell in module.cells_.values():
            name = cell.type.str()
            if first.get(name, name) != name:
                cell.type = ys.IdString(first[name])


def _keep(design: ys.Design, parts: Collection[str]) -> None:
    for module in design.modules_.values():
        if module_of(module.name.str()) in parts:
            module.set_bool_attribute(ys.IdString("\\keep_hierarchy"), True)


def module_of(name: str) -> str:
    """The RTL's name of a module that stands for one of its instances."""
    return name.removeprefix("\\").partition("$")[0]


def _register_ports(module: ys.Module) -> None:
    """Puts a register before every input and behind every output: then paths through ports are paths between registers.

    Of several clocks that whose name the port begins with.
    """
    ports = [wire for wire in module.wires_.values() if wire.port_input or wire.port_output]
    clocks = {wire.name.str().removesuffix(CLOCK): wire for wire in ports if wire.name.str().endswith(CLOCK)}
    for port in ports:
        name = port.name.str()
        if name.endswith(CLOCK):
            continue
        clock = next(clock for begin, clock in clocks.items() if name.startswith(begin))
        inner = ys.IdString(name + INSIDE)
        module.rename(port, inner)
        outer = module.addWire(ys.IdString(name), port.width)
        outer.port_id, outer.port_input, outer.port_output = port.port_id, port.port_input, port.port_output
        port.port_id, port.port_input, port.port_output = 0, False, False
        data, out = (outer, port) if outer.port_input else (port, outer)
        register = ys.IdString(f"{name}_port")
        module.addDff(register, ys.SigSpec(clock), ys.SigSpec(data), ys.SigSpec(out), True)
    module.fixup_ports()


if __name__ == "__main__":
    main()
