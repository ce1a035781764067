# SPDX-License-Identifier: Apache-2.0
"""Clocks and resets of an exported folder (docs/export.md): which clock and which resets each flip-flop has, and every signal that
goes from one clock to another.

A program for `thalweg.rtl.yosys`, which flattens the folder's top, and what reads its netlist.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg.errors import InputError
from thalweg.rtl import yosys as rtl_yosys
from thalweg.rtl.yosys import Bit, net_names

CONSTANT = "constant"
"""The clock of a port whose value does not change while the hardware runs."""
ASYNCHRONOUS = "none"
"""The clock of a port that belongs to none: only a synchronizer may take it."""
HELD = "tw_async_fifo"
"""The module whose memory may be read with another clock than it is written with: a word is read when it does not change any more."""

FLIP_FLOPS = {
    f"${kind}"
    for kind in ("dff", "dffe", "sdff", "sdffe", "sdffce", "adff", "adffe", "aldff", "aldffe", "dffsr", "dffsre")
}
LATCHES = {"$dlatch", "$adlatch", "$sr", "$dlatchsr", "$ff"}
RESET_WORDS = {"rst", "reset", "resetn", "aresetn"}  #: words of names of resets
RESETS = ("ARST", "SRST", "ALOAD", "SET", "CLR")


@dataclass(frozen=True)
class Request(rtl_yosys.Request):
    output: str  #: file for the flat netlist, as Yosys' JSON


@dataclass(frozen=True)
class Crossing:
    """A register, memory or port that gets a value of another clock."""

    start: str
    start_clock: str
    end: str
    end_clock: str
    way: str  #: "synchronizer", "held" (a word of an asynchronous FIFO), or ""
    fault: str  #: why it is none that may be; "" where it is right


@dataclass(frozen=True)
class Domain:
    """A clock, and what it drives."""

    clock: str
    flip_flops: int  #: bits
    memory: int  #: bits
    resets: dict[str, int]  #: registers or ports that reset flip-flops, and how many bits each


@dataclass(frozen=True)
class Found:
    domains: list[Domain]
    crossings: list[Crossing]


def crossings(folder: Path, netlist: Path) -> Found:
    """Of the folder that `thalweg rtl export` wrote; `netlist`: a file for what Yosys writes. Raises InputError for a folder that is
    none, or whose clocks are made by logic."""
    cores = sorted(folder.glob("thalweg_*.core"))
    if len(cores) != 1 or not (folder / "files.f").is_file():
        raise InputError(
            f"{str(folder)!r} is no folder that thalweg rtl export wrote: it has no files.f, or not one core file"
        )
    top = cores[0].stem
    sources = [str(folder / name) for name in (folder / "files.f").read_text().split()]
    rtl_yosys.start(__name__, Request(top, sources, [], {}, str(netlist)), f"Yosys cannot read {top}")
    return Netlist(json.loads(netlist.read_text())["modules"][top]).found()


class Netlist:
    """A flat module in Yosys' JSON."""

    def __init__(self, module: Mapping[str, Any]) -> None:
        self.cells: dict[str, Any] = module["cells"]
        self.names = net_names(module)
        self.synchronizers: set[Bit] = set()
        self.drivers: dict[Bit, str] = {}  #: of a net the cell, or the input port as " NAME"
        self.outputs: dict[str, list[Bit]] = {}
        for wire in module["netnames"].values():
            if "ASYNC_REG" in wire["attributes"]:
                self.synchronizers.update(wire["bits"])
        for name, cell in self.cells.items():
            for port, direction in cell["port_directions"].items():
                if direction == "output":
                    self.drivers.update((bit, name) for bit in cell["connections"][port])
        self.ports: dict[str, str] = {}
        for name, port in module["ports"].items():
            if port["direction"] == "output":
                self.outputs[name] = port["bits"]
            else:
                self.drivers.update((bit, f" {name}") for bit in port["bits"])
            self.ports[name] = module["netnames"][name]["attributes"].get("clock", "")
        self.clocks: dict[str, frozenset[str]] = {
            name: frozenset(self._clocks(name, cell)) for name, cell in self.cells.items() if _is_state(cell)
        }
        self._complete_ports()
        self._seen: dict[str, frozenset[str]] = {}

    def _clocks(self, name: str, cell: Any) -> Iterator[str]:
        if cell["type"] in LATCHES:
            raise InputError(f"{name} is a latch")
        for bit in cell["connections"]["CLK" if cell["type"] in FLIP_FLOPS else "WR_CLK"]:
            driver = self.drivers.get(bit, "")
            if not driver.startswith(" "):
                raise InputError(f"the clock of {self._register(name)} is not a port but comes from logic")
            yield driver[1:]

    def _complete_ports(self) -> None:
        """With one clock, all ports belong to it; with several, each says its own."""
        named = {clock for clock in self.ports.values() if clock and clock != CONSTANT}
        clocks = named.union(*self.clocks.values())
        only = next(iter(clocks)) if len(clocks) == 1 else ASYNCHRONOUS
        for name, clock in self.ports.items():
            if clock in named and clock not in self.ports:
                raise InputError(f"port {name} belongs to a clock {clock!r}, which is no port")
            self.ports[name] = name if name in clocks else clock or only

    def found(self) -> Found:
        crossings = list(dict.fromkeys(self._crossings()))
        bits, memory = Counter[str](), Counter[str]()
        resets: dict[str, Counter[str]] = defaultdict(Counter)
        for name, clocks in self.clocks.items():
            cell = self.cells[name]
            for clock in clocks:
                if cell["type"] == "$mem_v2":
                    memory[clock] += _number(cell, "SIZE") * _number(cell, "WIDTH")
                else:
                    bits[clock] += len(cell["connections"]["Q"])
                    for reset in self._resets(cell):
                        resets[clock][reset] += len(cell["connections"]["Q"])
        domains = [
            Domain(clock, bits[clock], memory[clock], dict(resets[clock].most_common()))
            for clock in sorted(bits.keys() | memory.keys())
        ]
        return Found(domains, crossings)

    def _resets(self, cell: Any) -> set[str]:
        """Where its reset comes from: ports, and registers whose names say that they are one."""
        found = set()
        for port in RESETS:
            for driver in self._sources(cell["connections"].get(port, ())):
                name = self._register(driver)
                if RESET_WORDS & set(name.rpartition(".")[2].split("_")):
                    found.add(name)
        return found

    def _crossings(self) -> Iterator[Crossing]:
        for name in self.clocks:
            cell = self.cells[name]
            if cell["type"] == "$mem_v2":
                yield from self._into(name, [cell["connections"][port] for port in ("WR_ADDR", "WR_DATA", "WR_EN")])
                continue
            of = cell["connections"]
            if self._is_synchronizer(name):
                yield from self._into_synchronizer(name, of)
            else:
                yield from self._into(name, [of[port] for port in ("D", "EN", "AD") if port in of])
            yield from self._into(name, [of[port] for port in RESETS if port in of], "reset")
        for name, bits in self.outputs.items():
            yield from self._into(f" {name}", [bits], "output")

    def _clock(self, name: str) -> str:
        return self.ports[name[1:]] if name.startswith(" ") else " and ".join(sorted(self.clocks[name]))

    def _into(self, name: str, inputs: Iterable[Iterable[Bit]], what: str = "value") -> Iterator[Crossing]:
        """Into what is no synchronizer: all that it gets has to be of its own clock."""
        own = self._clock(name)
        drivers = {self.drivers[bit] for bits in inputs for bit in bits if bit in self.drivers}
        synchronizes = what == "reset" and self._is_synchronizer(name)
        if all(self.domains(driver) <= {own} for driver in drivers):
            return
        for source in self._cone(drivers):
            clock = self._clock(source)
            if clock in (own, CONSTANT):
                continue
            if synchronizes and clock == ASYNCHRONOUS:
                yield Crossing(self._register(source), clock, self._register(name), own, "synchronizer", "")
            elif self._is_held(source):
                yield Crossing(self._register(source), clock, self._register(name), own, "held", "")
            else:
                yield Crossing(self._register(source), clock, self._register(name), own, "", f"{what} of another clock")

    def _into_synchronizer(self, name: str, of: Mapping[str, list[Bit]]) -> Iterator[Crossing]:
        own = self._clock(name)
        for bit in of["D"]:
            if (driver := self.drivers.get(bit)) is None or driver == name:
                continue
            direct = driver.startswith(" ") or driver in self.clocks
            for source in self._cone({driver}):
                if (clock := self._clock(source)) not in (own, CONSTANT):
                    fault = "" if direct else "logic in front of the synchronizer"
                    yield Crossing(self._register(source), clock, self._register(name), own, "synchronizer", fault)

    def domains(self, start: str) -> frozenset[str]:
        """The clocks of all registers and ports that a cell's output depends on; of a register, its own."""
        stack = [start]
        while stack:
            name = stack[-1]
            if name in self._seen:
                stack.pop()
                continue
            if ends := self._ends(name):
                self._seen[name] = ends
                continue
            inputs = self._inputs(name)
            if missing := [driver for driver in inputs if driver not in self._seen and driver not in stack]:
                stack.extend(missing)
                continue
            self._seen[name] = frozenset().union(*(self._seen.get(driver, frozenset()) for driver in inputs))
        return self._seen[start]

    def _ends(self, name: str) -> frozenset[str]:
        """The clocks of what a cone of logic begins at; nothing for logic."""
        if name.startswith(" "):
            return frozenset({self.ports[name[1:]]} - {CONSTANT})
        return self.clocks.get(name, frozenset())

    def _inputs(self, name: str) -> list[str]:
        if name.startswith(" "):
            return []
        cell = self.cells[name]
        ports = [port for port, direction in cell["port_directions"].items() if direction == "input"]
        return list({self.drivers[bit] for port in ports for bit in cell["connections"][port] if bit in self.drivers})

    def _sources(self, bits: Iterable[Bit]) -> Iterator[str]:
        yield from self._cone({self.drivers[bit] for bit in bits if bit in self.drivers})

    def _cone(self, drivers: Iterable[str]) -> Iterator[str]:
        """The registers, memories and ports that logic depends on."""
        stack, seen = list(drivers), set(drivers)
        while stack:
            name = stack.pop()
            if name.startswith(" ") or name in self.clocks:
                yield name
                if name.startswith(" ") or self.cells[name]["type"] != "$mem_v2":
                    continue
                inputs = {
                    self.drivers[bit] for bit in self.cells[name]["connections"]["RD_ADDR"] if bit in self.drivers
                }
            else:
                inputs = set(self._inputs(name))
            stack.extend(inputs - seen)
            seen |= inputs

    def _is_synchronizer(self, name: str) -> bool:
        return self.synchronizers.issuperset(self.cells[name]["connections"]["Q"])

    def _is_held(self, name: str) -> bool:
        if name.startswith(" ") or self.cells[name]["type"] != "$mem_v2":
            return False
        return Path(self.cells[name]["attributes"].get("src", "").partition(":")[0]).stem == HELD

    def _register(self, name: str) -> str:
        """The RTL's name."""
        if name.startswith(" "):
            return name[1:]
        cell = self.cells[name]
        if cell["type"] in FLIP_FLOPS:
            return self.names.get(cell["connections"]["Q"][0], name)
        return name


def _is_state(cell: Any) -> bool:
    kind = cell["type"]
    if kind == "$mem_v2":
        if "1" in cell["parameters"]["RD_CLK_ENABLE"]:
            raise InputError("a memory has a clocked output, which is not expected before mapping")
        return _number(cell, "WR_PORTS") > 0
    return kind in FLIP_FLOPS or kind in LATCHES


def _number(cell: Any, parameter: str) -> int:
    return int(cell["parameters"][parameter], 2)


def main() -> None:
    request = rtl_yosys.requested(Request)
    _, run = rtl_yosys.read(request, assertions=False)
    for command in ("flatten", "delete */t:$scopeinfo", "opt_clean", "opt_dff -nodffe", "memory_collect", "opt_clean"):
        run(command)
    run(f"write_json {request.output}")


if __name__ == "__main__":
    main()
