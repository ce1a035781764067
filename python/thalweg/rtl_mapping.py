"""Maps a block to an FPGA's cells: writes the number of cells of each type as JSON, or the netlist for place and route.

A program for `thalweg.rtl_yosys`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg import rtl_yosys

if TYPE_CHECKING or __name__ == "__main__":
    from pyosys import libyosys as ys

CLOCK = "clk_i"
INSIDE = "_inside"  #: ends the name of what lies between a port's register and the block


@dataclass(frozen=True)
class Request(rtl_yosys.Request):
    cells: str  #: file for the number of cells of each type, after mapping for UltraScale+
    netlist: str  #: or else: file for the netlist for ECP5


def main() -> None:
    request = rtl_yosys.requested(Request)
    design, run = rtl_yosys.read(request, assertions=False)
    if request.netlist:
        _register_ports(design.top_module())
        run(f"synth_lattice -family ecp5 -top {request.top} -json {request.netlist}")
    else:
        run(f"synth_xilinx -family xcup -flatten -noiopad -noclkbuf -top {request.top}")
        report = Path(request.cells).with_suffix(".stat")
        run(f"tee -q -o {report} stat -json")
        counts = json.loads(report.read_text())["design"]["num_cells_by_type"]
        Path(request.cells).write_text(json.dumps(counts))


def _register_ports(module: ys.Module) -> None:
    """Puts a register before every input and behind every output: then paths through ports are paths between registers."""
    clock = module.wire(ys.IdString(f"\\{CLOCK}"))
    for port in [wire for wire in module.wires_.values() if wire.port_input or wire.port_output]:
        name = port.name.str()
        if name == clock.name.str():
            continue
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
