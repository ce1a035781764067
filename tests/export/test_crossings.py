# SPDX-License-Identifier: Apache-2.0
"""Does `thalweg rtl crossings` find every value that crosses between clocks, and the ones that may not?"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from thalweg.cli import main
from thalweg.systems.peach2.cluster import Cluster
from thalweg.systems.peach2.export import export

FIFOS = (
    2 * 2 + 2 + 3
)  #: tw_hub has two ports with one in each direction, a start of each of two DMA channels, loads, commands and events
CLOCKS = ("net_aclk", "bus_aclk")


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    export(Cluster.load("peach2-ring-4"), tmp_path / "hub")
    return tmp_path / "hub"


def change(file: Path, *changes: tuple[str, str]) -> None:
    text = file.read_text()
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    file.write_text(text)


def faults(folder: Path, status: int) -> set[tuple[str, str]]:
    file = folder / "found.json"
    assert main(["rtl", "crossings", str(folder), "--json", str(file)]) == status
    crossings = json.loads(file.read_text())["crossings"]
    return {(crossing["end"].rpartition(".")[2], crossing["fault"]) for crossing in crossings if crossing["fault"]}


@pytest.mark.sample(2)
@pytest.mark.slow
def test_hub(hub: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A FIFO's two pointers pass a synchronizer each, and its words are held; the reset passes one synchronizer per
    clock."""
    assert main(["rtl", "crossings", str(hub), "--json", str(tmp_path / "found.json")]) == 0
    assert "top.net_reset.stages_q" in capsys.readouterr().out
    found = json.loads((tmp_path / "found.json").read_text())
    ways = Counter((crossing["way"], crossing["start_clock"]) for crossing in found["crossings"])
    assert sum(number for (way, _), number in ways.items() if way == "held") == FIFOS
    assert {clock: ways["synchronizer", clock] for clock in (*CLOCKS, "none")} == {
        **dict.fromkeys(CLOCKS, FIFOS),
        "none": 2,
    }
    for domain in found["domains"]:
        assert set(domain["resets"]) == {f"top.{domain['clock'].removesuffix('_aclk')}_rst", "aresetn"}
        assert domain["resets"]["aresetn"] == 2  # the synchronizer itself

    sdc, xdc = ((hub / f"thalweg_hub.{ending}").read_text() for ending in ("sdc", "xdc"))
    for source, target in itertools.permutations(CLOCKS, 2):
        period = {"net_aclk": "4.000", "bus_aclk": "6.667"}[source]
        assert f"set_max_delay {period} -from [get_clocks {source}] -to [get_clocks {target}]\n" in sdc
        assert f"set_max_delay -datapath_only -from ${source} -to ${target} [get_property PERIOD ${source}]\n" in xdc


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "changes", "expected"),
    [
        pytest.param(
            "tw_async_fifo.sv",
            [(".level_i(write_gray_q)", ".level_i(gray(write_q))")],
            "logic in front of the synchronizer",
            id="logic_before_synchronizer",
        ),
        pytest.param(
            "tw_top.sv",
            [
                ("(net_rst),\n      .net_own", "(bus_rst),\n      .net_own"),
                (".bus_rst_i               (bus_rst)", ".bus_rst_i (net_rst)"),
            ],
            "reset from another clock domain",
            id="resets_swapped",
            marks=pytest.mark.long,
        ),
    ],
)
def test_mutants(
    hub: Path, file: str, changes: list[tuple[str, str]], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change(hub / "rtl" / file, *changes)
    assert expected in {fault for _, fault in faults(hub, 1)}
    assert "crossings are wrong" in capsys.readouterr().err


SMALL = """
module thalweg_small (
    input wire a_clk, input wire b_clk,
    (* clock = "a_clk" *) input wire [3:0] a_in,
    (* clock = "constant" *) input wire number,
    OUTPUTS
);
  logic [3:0] from_a_q, memory_q[4];
  (* ASYNC_REG = "TRUE" *) logic [1:0][3:0] stages_q;
  always_ff @(posedge a_clk) begin
    from_a_q <= a_in;
    memory_q[a_in[1:0]] <= a_in;
  end
  always_ff @(posedge b_clk) stages_q <= {stages_q[0], from_a_q};
  BODY
endmodule
"""


@pytest.fixture
def small(tmp_path: Path) -> Callable[..., Path]:
    def make(body: str, *outputs: str) -> Path:
        (tmp_path / "thalweg_small.core").touch()
        (tmp_path / "files.f").write_text("small.sv\n")
        ports = ", ".join(f'(* clock = "b_clk" *) output logic [3:0] {name}' for name in outputs)
        (tmp_path / "small.sv").write_text(SMALL.replace("BODY", body).replace("OUTPUTS", ports))
        return tmp_path

    return make


@pytest.mark.slow
def test_each_way_into_another_clock(small: Callable[..., Path]) -> None:
    body = """
    assign logic_out = stages_q[1] & from_a_q;
    always_ff @(posedge b_clk) begin
      right_q <= stages_q[1] ^ 4'(number);
      register_q <= from_a_q;
      port_q <= a_in;
      word_q <= memory_q[stages_q[1][1:0]];
      if (from_a_q[0]) reset_q <= '0;
      else reset_q <= stages_q[1];
    end"""
    assert faults(small(body, "right_q", "register_q", "port_q", "word_q", "reset_q", "logic_out"), 1) == {
        ("register_q", "value from another clock domain"),
        ("port_q", "value from another clock domain"),
        ("word_q", "value from another clock domain"),
        ("reset_q", "reset from another clock domain"),
        ("logic_out", "output from another clock domain"),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("wire gated = b_clk & from_a_q[0]; always_ff @(posedge gated) out <= a_in;", "clock of out is not a port"),
        ("always_latch if (b_clk) out = a_in;", "is a latch"),
    ],
)
def test_bad_clocks_are_one_line(
    small: Callable[..., Path], body: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rtl", "crossings", str(small(body, "out"))]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_a_folder_that_is_no_export_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rtl", "crossings", str(tmp_path)]) == 2
    assert "was not written by thalweg rtl export" in capsys.readouterr().err
