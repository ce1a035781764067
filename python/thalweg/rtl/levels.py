# SPDX-License-Identifier: Apache-2.0
"""Logic depth of a mapped block: the path with the most consecutive LUTs in a netlist of UltraScale+ cells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg.rtl.yosys import Bit, net_names

REGISTERS = {"FDRE", "FDSE", "FDCE", "FDPE"}
BLOCK_RAMS = {"RAMB18E2", "RAMB36E2"}
CARRIES = {"CARRY4"}
MULTIPLEXERS = {"MUXF7", "MUXF8", "MUXF9"}  # in the same slice as the LUTs before them
DSPS = {"DSP48E2"}
CLOCKS = {"C", "CLK", "WCLK", "CLKARDCLK", "CLKBWRCLK"}

Level = tuple[int, int]
"""Number of LUTs, and of carry cells (4 bits each)."""


@dataclass(frozen=True)
class Levels:
    """The deepest path between two registers, memories or ports."""

    luts: int  #: consecutive LUTs; slice multiplexers (MUXF7 to MUXF9) count 0, a DSP without register 1
    carries: int  #: carry cells (4 bits each) on the path, in addition
    start: str
    end: str
    fan_out: int  #: maximum fan-out of a net, except clocks and resets from ports
    fan_out_net: str
    bare_rams: int  #: block RAMs without output register that drive logic


def levels(module: Mapping[str, Any]) -> Levels:
    """Returns the levels of a flat module in Yosys' JSON format."""
    cells: Mapping[str, Any] = module["cells"]
    drivers: dict[Bit, str] = {}
    readers: dict[Bit, int] = defaultdict(int)
    into_logic: set[Bit] = set()  # nets read by anything but the data input of a flip-flop
    for name, cell in cells.items():
        for port, direction in cell["port_directions"].items():
            for bit in cell["connections"][port]:
                if isinstance(bit, str):
                    continue
                if direction == "output":
                    drivers[bit] = name
                elif port not in CLOCKS:
                    readers[bit] += 1
                    if not (cell["type"] in REGISTERS and port == "D"):
                        into_logic.add(bit)
    names = net_names(module)

    depth, before = _depths(cells, drivers)

    def named(bit: Bit) -> str:
        """Returns the name of a net, its role at a register, or the nearest named net that it depends on."""
        if name := names.get(bit) or _use(cells, names, bit):
            return name
        while bit not in names and bit in before:
            bit = before[bit]
        return f"logic of {names.get(bit) or _source(cells, drivers[bit])}"

    ends: dict[Bit, str] = {
        bit: name for name, port in module["ports"].items() if port["direction"] == "output" for bit in port["bits"]
    }
    for name, cell in cells.items():
        if _is_state(cell):
            outputs = [bit for port, bits in _outputs(cell) for bit in bits if bit in readers or bit in ends]
            for bit in _ending(cell):
                ends.setdefault(bit, next((names[out] for out in outputs if out in names), _source(cells, name)))
    deepest = max(ends, key=lambda bit: depth.get(bit, (0, 0)), default=None)
    if deepest is None:
        return Levels(0, 0, "", "", 0, "", 0)
    start = deepest
    while start in before:
        start = before[start]
    resets = {
        bit
        for name, port in module["ports"].items()
        if port["direction"] == "input" and name.endswith(("rst_i", "resetn"))
        for bit in port["bits"]
    }
    widest = max((bit for bit in readers if bit not in resets), key=readers.__getitem__, default=deepest)
    bare = sum(
        cell["type"] in BLOCK_RAMS
        and any(bit in into_logic for port, bits in _outputs(cell) if not _registered(cell, port) for bit in bits)
        for cell in cells.values()
    )
    return Levels(*depth.get(deepest, (0, 0)), named(start), ends[deepest], readers[widest], named(widest), bare)


def _depths(cells: Mapping[str, Any], drivers: Mapping[Bit, str]) -> tuple[dict[Bit, Level], dict[Bit, Bit]]:
    """Returns the depth of each net driven by logic, and the deepest net that it depends on."""
    depth: dict[Bit, Level] = {}
    before: dict[Bit, Bit] = {}
    done: set[str] = set()
    opened: set[str] = set()
    for first in cells:
        stack = [first]
        while stack:
            name = stack[-1]
            cell = cells[name]
            if name in done or not _is_logic(cell):
                done.add(name)
                stack.pop()
                continue
            arcs = list(_arcs(cell))
            missing = [drivers[bit] for _, bits in arcs for bit in bits if bit in drivers and drivers[bit] not in done]
            if missing and name not in opened:
                opened.add(name)
                stack.extend(missing)
                continue
            done.add(name)
            stack.pop()
            own = cell["type"] not in CARRIES | MULTIPLEXERS
            for out, inputs in arcs:
                deepest = max(inputs, key=lambda bit: depth.get(bit, (0, 0)), default=None)
                luts, carries = depth.get(deepest, (0, 0)) if deepest is not None else (0, 0)
                depth[out] = (luts + own, carries + (cell["type"] in CARRIES))
                if deepest is not None:
                    before[out] = deepest
    return depth, before


def _use(cells: Mapping[str, Any], names: Mapping[Bit, str], bit: Bit) -> str:
    for cell in cells.values():
        if cell["type"] in REGISTERS and (out := names.get(cell["connections"]["Q"][0])):
            for port, read in _inputs(cell):
                if read == bit:
                    return f"{port} of {out}"
    return ""


def _source(cells: Mapping[str, Any], name: str) -> str:
    source = cells[name]["attributes"].get("src", "") if name in cells else ""
    return Path(source.partition("|")[0].partition("-")[0]).name.rpartition(".")[0] or name


def _is_state(cell: Any) -> bool:
    """True for cells that end paths: registers and memories. Memories in LUTs also pass addresses through."""
    return not _is_logic(cell) or any(port in CLOCKS for port in cell["connections"])


def _is_logic(cell: Any) -> bool:
    kind = cell["type"]
    if kind in DSPS:
        return not any(int(cell["parameters"].get(name, "0"), 2) for name in ("MREG", "PREG"))
    return kind not in REGISTERS | BLOCK_RAMS


def _outputs(cell: Any) -> Iterator[tuple[str, list[Bit]]]:
    for port, direction in cell["port_directions"].items():
        if direction == "output":
            yield port, [bit for bit in cell["connections"][port] if not isinstance(bit, str)]


def _inputs(cell: Any) -> Iterator[tuple[str, Bit]]:
    for port, direction in cell["port_directions"].items():
        if direction == "input" and port not in CLOCKS:
            yield from ((port, bit) for bit in cell["connections"][port] if not isinstance(bit, str))


def _arcs(cell: Any) -> Iterator[tuple[Bit, list[Bit]]]:
    """Yields each output of a cell with the inputs that have a combinational path to it."""
    memory = any(port in CLOCKS for port in cell["connections"]) and cell["type"] not in DSPS
    for out, bits in _outputs(cell):
        inputs = [bit for port, bit in _inputs(cell) if not memory or _shows(port, out)]
        yield from ((bit, inputs) for bit in bits)


def _shows(address: str, out: str) -> bool:
    """True if an input addresses an output of a LUT memory or shift register; each output has its own address."""
    if out.startswith("DO"):
        return address == f"ADDR{out[2:]}"
    return address.rstrip("0123456789") == {"DPO": "DPRA", "Q31": ""}.get(out, "A")


def _ending(cell: Any) -> Iterator[Bit]:
    """Yields the inputs sampled at a clock edge."""
    for _, bit in _inputs(cell):
        yield bit


def _registered(cell: Any, port: str) -> bool:
    side = "A" if "ADOUT" in port or port.startswith(("DOUTA", "DOUTPA")) else "B"
    return int(cell["parameters"].get(f"DO{side}_REG", "0"), 2) == 1
