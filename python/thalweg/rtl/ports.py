# SPDX-License-Identifier: Apache-2.0
"""Ports of a SystemVerilog module, from Verilator's JSON, and the C++ header for equivalence tests."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

from thalweg.errors import InputError

#: in modules with several clocks, ports start with the name of their clock: wr_clk_i, wr_rst_i, wr_valid_i
CLOCK, RESET = "clk_i", "rst_i"


@dataclass(frozen=True)
class Element:
    """One element of a port: a C++ type of the header, and its width in bits."""

    cpp: str
    bits: int


@dataclass(frozen=True)
class Port:
    name: str
    output: bool
    element: Element
    elements: int

    @property
    def bits(self) -> int:
        return self.element.bits * self.elements

    @property
    def words(self) -> int:
        return (self.bits + 31) // 32


@dataclass(frozen=True)
class Module:
    name: str
    parameters: dict[str, tuple[int, int]]  #: value, and bits
    structs: dict[str, list[tuple[str, Element]]]
    ports: list[Port]
    files: list[Path]
    clocks: list[str]  #: port prefixes of the clocks; "" for the only clock of most modules

    def clock_of(self, port: Port) -> int:
        """Returns the index of a port's clock."""
        return next(i for i, clock in enumerate(self.clocks) if port.name.startswith(clock))


class _Types:
    """The type table of a tree: resolves a type to elements, and collects structs."""

    def __init__(self, table: list[dict[str, Any]]) -> None:
        self.by_address = {entry["addr"]: entry for entry in table}
        self.structs: dict[str, list[tuple[str, Element]]] = {}

    def element(self, address: str) -> Element:
        entry = self.by_address[address]
        match entry["type"]:
            case "BASICDTYPE":
                bits = _range_bits(entry["range"]) if entry.get("range") else {"int": 32}.get(entry["keyword"], 1)
                return Element(f"bisim::Word<{bits}>", bits)
            case "REFDTYPE":
                return self.element(entry["refDTypep"])
            case "ENUMDTYPE":
                return self.element(entry["refDTypep"])
            case "STRUCTDTYPE":
                name = entry["name"].rsplit(":", 1)[-1].rsplit(".", 1)[-1]
                members = [(member["name"], self.element(member["refDTypep"])) for member in entry["membersp"]]
                self.structs[name] = members
                return Element(name, sum(member.bits for _, member in members))
            case "PACKARRAYDTYPE":
                bits = self.element(entry["refDTypep"]).bits * _range_bits(entry["declRange"])
                return Element(f"bisim::Word<{bits}>", bits)
            case other:
                raise InputError(f"a port of type {other} is not supported: use packed types")

    def port_type(self, address: str) -> tuple[Element, int]:
        """Returns element type and number of elements; the outermost packed dimension of an array counts elements."""
        entry = self.by_address[address]
        if entry["type"] == "REFDTYPE":
            return self.port_type(entry["refDTypep"])
        if entry["type"] == "PACKARRAYDTYPE":
            return self.element(entry["refDTypep"]), _range_bits(entry["declRange"])
        return self.element(address), 1


def _range_bits(text: str) -> int:
    left, right = (int(part) for part in text.strip("[]").split(":"))
    return abs(left - right) + 1


def constant(node: dict[str, Any]) -> tuple[int, int] | None:
    """Returns value and bits of a constant in a tree; None for other nodes."""
    match = re.fullmatch(r"(\d+)'s?h([0-9a-f]+)", node.get("name", ""))
    return (int(match[2], 16), int(match[1])) if match else None


def read_module(tree: Path, meta: Path) -> Module:
    """Reads the top module of a tree written by `verilator --json-only`, and the list of its source files."""
    root = json.loads(tree.read_text())
    types = _Types(next(entry for entry in root["miscsp"] if entry["type"] == "TYPETABLE")["typesp"])
    top = next(module for module in root["modulesp"] if module.get("level") == 1)
    parameters: dict[str, tuple[int, int]] = {}
    ports: list[Port] = []
    for variable in top["stmtsp"]:
        if variable["type"] != "VAR":
            continue
        if variable["varType"] in ("GPARAM", "LPARAM") and variable.get("valuep"):
            value = constant(variable["valuep"][0])
            if value is not None:
                parameters[variable["origName"]] = value
        elif variable["varType"] == "PORT":
            element, elements = types.port_type(variable["dtypep"])
            ports.append(Port(variable["origName"], variable["direction"] == "OUTPUT", element, elements))
    names = {port.name for port in ports}
    clocks = [port.name.removesuffix(CLOCK) for port in ports if re.fullmatch(rf"(\w+_)?{CLOCK}", port.name)] or [""]
    own = {clock + name for clock in clocks for name in (CLOCK, RESET)}
    missing = own - names
    if missing:
        raise InputError(f"{top['origName']} has no port {' and '.join(sorted(missing))}")
    stray = sorted(name for name in names if not name.startswith(tuple(clocks)))
    if stray:
        raise InputError(f"{top['origName']}: {', '.join(stray)} must begin with a clock's name: {' or '.join(clocks)}")
    files = [Path(entry["realpath"]) for entry in json.loads(meta.read_text())["files"].values()]
    sources = [path for path in files if path.suffix in (".sv", ".svh") and path.name != "verilated_std.sv"]
    driven = [port for port in ports if port.name not in own]
    return Module(top["origName"], parameters, types.structs, driven, sources, clocks)


def _parameter(name: str, value: int, bits: int) -> str:
    """Returns a C++ constant: a number up to 64 bits, else an array of 64-bit words, lowest first."""
    if bits <= 64:
        return f"  static constexpr std::uint64_t {name} = {value}U;"
    words = [f"{value >> done & (1 << 64) - 1}U" for done in range(0, bits, 64)]
    return f"  static constexpr std::array<std::uint64_t, {len(words)}> {name}{{{', '.join(words)}}};"


def _struct(name: str, members: list[tuple[str, Element]]) -> str:
    bits = sum(element.bits for _, element in members)
    lsb = bits
    fields, getters, putters = [], [], []
    for member, element in members:
        lsb -= element.bits
        fields.append(f"  {element.cpp}::Value {member}{{}};")
        getters.append(f"{element.cpp}::get(words, lsb + {lsb})")
        putters.append(f"    {element.cpp}::put(words, lsb + {lsb}, value.{member});")
    return "\n".join(
        [
            f"struct {name} {{",
            *fields,
            f"  using Value = {name};",
            f"  static constexpr unsigned kBits = {bits};",
            f"  [[nodiscard]] static {name} get(const std::uint32_t* words, unsigned lsb) {{",
            f"    return {{{', '.join(getters)}}};",
            "  }",
            f"  static void put(std::uint32_t* words, unsigned lsb, const {name}& value) {{",
            *putters,
            "  }",
            "};",
        ]
    )


def _gate(port: Port, outputs: list[Port]) -> int:
    """Returns the index of the valid port of the same channel, `<channel>_valid_o`; -1 if there is none."""
    for index, other in enumerate(outputs):
        channel = other.name.removesuffix("_valid_o")
        if channel != other.name and port is not other and port.name.startswith(channel + "_"):
            if port.bits % other.bits:
                raise InputError(f"{port.name} has {port.bits} bits, not a multiple of the lanes of {other.name}")
            return index
    return -1


def gates(module: Module) -> dict[str, str]:
    """Returns the valid output of each payload output, which marks its valid lanes."""
    outputs = [port for port in module.ports if port.output]
    return {port.name: outputs[gate].name for port in outputs if (gate := _gate(port, outputs)) >= 0}


def _periods(module: Module, megahertz: Mapping[str, float]) -> list[int]:
    """Returns the period of each clock in ticks: half of the longest time of which all periods are multiples
    (tests/bisim/bisim.hpp, `Clocks`)."""
    names = [clock.removesuffix("_") for clock in module.clocks]
    if len(names) == 1:
        return [1]
    if set(megahertz) != set(names):
        raise InputError(f"{module.name} has the clocks {', '.join(names)}: give the frequency of each in MHz")
    periods = [1 / Fraction(megahertz[name]) for name in names]
    denominator = math.lcm(*(period.denominator for period in periods))
    whole = [int(period * denominator) for period in periods]
    return [2 * number // math.gcd(*whole) for number in whole]


def header(module: Module, megahertz: Mapping[str, float] = MappingProxyType({})) -> str:
    """Returns the C++ header of a module: Parameters, structs, Inputs, Outputs, and access to the Verilated signals.

    `megahertz` has the frequencies of several clocks.
    """
    periods = _periods(module, megahertz)
    lines = [
        f"// Ports of {module.name}, generated from the RTL.",
        "#pragma once",
        "",
        "#include <array>",
        "",
        '#include "Vtop.h"',
        '#include "bisim/ports.hpp"',
        "",
        "namespace top {",
        "",
        "struct Parameters {",
        *(_parameter(name, value, bits) for name, (value, bits) in module.parameters.items()),
        "};",
        "",
    ]
    lines += [
        f"inline constexpr std::array<std::uint64_t, {len(periods)}> kPeriods{{{', '.join(map(str, periods))}}};",
        "",
    ]
    for name, members in module.structs.items():
        lines += [_struct(name, members), ""]
    sides = {
        "Inputs": [port for port in module.ports if not port.output],
        "Outputs": [port for port in module.ports if port.output],
    }
    for side, ports in sides.items():
        lines += [f"struct {side} {{"]
        lines += [f"  bisim::Port<{port.element.cpp}, {port.elements}> {port.name};" for port in ports]
        lines += ["};", ""]
    for side, ports in sides.items():
        lines += [f"inline constexpr std::array<bisim::PortInfo, {len(ports)}> k{side}{{{{"]
        word = 0
        for port in ports:
            gate = _gate(port, ports) if port.output else -1
            lane_bits = port.bits // ports[gate].bits if gate >= 0 else port.element.bits
            lines += [f'    {{"{port.name}", {port.bits}, {word}, {gate}, {lane_bits}, {module.clock_of(port)}}},']
            word += port.words
        lines += ["}};", *([f"static_assert(sizeof({side}) == {4 * word});"] if ports else []), ""]
    lines += [
        "/// True where that changed an input.",
        "inline bool load(Vtop& model, const Inputs& in) {",
        "  bool other = false;",
    ]
    lines += [f"  other |= bisim::to_signal(model.{port.name}, in.{port.name}.words);" for port in sides["Inputs"]]
    lines += ["  return other;", "}", "", "inline void store(const Vtop& model, Outputs& out) {"]
    lines += [f"  bisim::from_signal(model.{port.name}, out.{port.name}.words);" for port in sides["Outputs"]]
    lines += ["}", "", "inline void set_clocks(Vtop& model, unsigned high) {"]
    lines += [f"  model.{clock}{CLOCK} = high >> {i} & 1;" for i, clock in enumerate(module.clocks)]
    lines += ["}", "", "inline void set_resets(Vtop& model, bool high) {"]
    lines += [f"  model.{clock}{RESET} = high;" for clock in module.clocks]
    lines += ["}", "", "}  // namespace top", ""]
    return "\n".join(lines)
