# SPDX-License-Identifier: Apache-2.0
"""`thalweg reproduce accl`: are the paper's numbers reproduced within the differences given in docs/reproduce.md, and
are differences explained?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import thalweg
from published import lines
from thalweg.cli import main
from thalweg.errors import InputError
from thalweg.papers import NOTABLE, Row, published
from thalweg.systems.accl import figures

pytestmark = pytest.mark.slow

PAGE = Path(__file__).resolve().parents[3] / "docs/reproduce.md"

LINE_GB, MEMORY_GB = 12.5, 14
SEGMENT, ON_WIRE = (
    1460,
    20 + 20 + 14 + 4 + 8 + 12,
)  #: data bytes of a segment, and its overhead: TCP, IPv4, Ethernet, check sum, preamble, gap
PAYLOAD = 4096 / (4096 + 64)  #: share of the bytes in a TCP stream
OURS = {"accl.figure4", "accl.tcp.round_trip"}
"""Rows for which the paper's text has no number."""
APPLICATION = "accl.shallow_water", "accl.circuit_switched", "accl.l_comm"
RESOURCES = "accl.resources", "accl.minimal"
"""Prefixes of the ids of other subjects."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reproduction's rows and figure."""
    pytest.importorskip("matplotlib")
    path = tmp_path_factory.mktemp("reproduce")
    assert (
        main(["reproduce", "accl", "--only", "messages", "--json", str(path / "rows.json"), "--plot", str(path)]) == 0
    )
    return path


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "rows.json").read_text())["rows"]
    return found


def of(rows: list[dict[str, Any]], id_: str, *words: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["id"] == id_ and all(word in row["what"] for word in words)]


@pytest.mark.sample(2)
def test_each_number_that_has_to_come_out_has_a_row(rows: list[dict[str, Any]]) -> None:
    numbers = published("accl")
    found = {row["id"] for row in rows}
    wanted = {id_ for id_, number in numbers.items() if number["use"] == "check"}
    assert {id_ for id_ in wanted if not id_.startswith(APPLICATION + RESOURCES)} <= found <= numbers.keys() | OURS
    for row in rows:
        if row["id"] in OURS:
            assert row["published"] is None
            continue
        assert row["unit"] == numbers[row["id"]]["unit"]
        assert row["note"] or abs(row["ratio"] - 1) <= NOTABLE, row["what"]


def test_the_page_has_these_lines(rows: list[dict[str, Any]]) -> None:
    assert set(lines("accl", rows)) <= set(PAGE.read_text().splitlines()), "make examples writes them"


def test_large_messages_have_the_papers_throughput(rows: list[dict[str, Any]]) -> None:
    assert numbers_of(of(rows, "accl.tuned")) == pytest.approx([12.3] * 2, rel=0.03)
    assert numbers_of(of(rows, "accl.buffered.peak")) == pytest.approx([1 / (1 / 14 + 1 / 12.5)] * 2, rel=0.03)


def numbers_of(rows: list[dict[str, Any]]) -> list[float]:
    return [row["measured"] for row in rows]


def test_tcp_before_has_what_windows_and_segments_leave(rows: list[dict[str, Any]]) -> None:
    """A round trip: two passes through the switch, four ports and two segments, each read and then sent; and at most
    the other direction's data sent before."""
    (trip_us,) = numbers_of(of(rows, "accl.tcp.round_trip"))
    line_us = (SEGMENT + ON_WIRE) / LINE_GB / 1e3
    least_us = 2 * (1 + 2 * 0.015) + 4 * 0.25 + 2 * line_us + 2 * 24 / 322.265625
    assert least_us < trip_us < least_us + 2 * (2048 + SEGMENT) / LINE_GB / 1e3 + line_us
    segments = LINE_GB * SEGMENT / (SEGMENT + ON_WIRE) * PAYLOAD
    measured, bound, farther = of(rows, "accl.tcp.untuned")
    assert bound["measured"] == pytest.approx(min(65_535 * PAYLOAD / trip_us / 1e3, segments), rel=0.001)
    assert measured["measured"] == pytest.approx(bound["measured"], rel=0.01)
    assert farther["implied_round_trip_us"] == pytest.approx(65_535 * PAYLOAD / 8.5 / 1e3)
    assert farther["measured"] == pytest.approx(8.5, rel=0.03)


def test_small_messages_have_the_papers_latencies(rows: list[dict[str, Any]]) -> None:
    direct, switched = of(rows, "accl.pl.latency.64B"), of(rows, "accl.es.latency.64B")
    assert len(direct) == len(switched) == 4
    for row in direct:  # UDP's buffered messages take 5 % more, according to a note
        assert row["measured"] < 3 or (row["ratio"] < 1.05 and row["note"] and "buffered, UDP" in row["what"])
    assert all(2.5 < row["measured"] < 5 for row in switched)
    added = numbers_of(of(rows, "accl.ethernet_switch"))
    assert added == pytest.approx([b["measured"] - a["measured"] for a, b in zip(direct, switched, strict=True)])
    assert added[:2] == pytest.approx([1, 1], abs=0.02)


def test_hosts_take_what_equation_1_says(rows: list[dict[str, Any]]) -> None:
    """2 l_k + l_m + l_c, and l_k + l_c for streaming: an invocation takes 30 us, a read or write of memory 106.7 ns, a
    port 250 ns, two cables 15 ns each."""
    found = of(rows, "accl.latency.model")
    assert len(found) == 6
    for row in found:
        size = row["bytes"]
        link = 2 * 0.25 + 2 * 0.015 + size / LINE_GB / 1e3
        model = 30 + link if "streaming" in row["what"] else 60 + 2 * 0.1067 + size / MEMORY_GB / 1e3 + link
        assert row["measured"] == pytest.approx(row["time_us"] / row["model_us"])
        assert row["time_us"] == pytest.approx(model, rel=0.05)


def test_host_mpi_is_the_slowest(rows: list[dict[str, Any]]) -> None:
    """Figure 4, at all sizes. For 64 bytes ours is faster than the paper's; no source explains the difference."""
    (small,) = of(rows, "accl.host.latency.64B")
    assert 0.8 * 120 < small["measured"] < 120
    curves = of(rows, "accl.figure4")
    series = {(row["series"], row.get("way")) for row in curves}
    assert len(series) == 11
    for size in (64 << power for power in range(15)):
        at = {(row["series"], row.get("way")): row["measured"] for row in curves if row["bytes"] == size}
        assert at.keys() == series
        assert max(at, key=lambda name: at[name]) == ("host MPI", None)


def test_the_figure_has_a_line_for_each_series(folder: Path, rows: list[dict[str, Any]]) -> None:
    assert (folder / "figure-4.png").read_bytes().startswith(b"\x89PNG")
    curves = [Row(row["id"], row["what"], None, row["measured"], "us", about=row) for row in of(rows, "accl.figure4")]
    for axes in figures.messages(curves).get_axes():
        lines = {str(line.get_label()): line for line in axes.get_lines()}
        assert len(lines) == 7
        assert lines["Equation 1"].get_linestyle() == "--"
        assert all(len(line.get_xdata()) == 15 for line in lines.values())  # type: ignore[arg-type]
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_wrong_options_are_refused() -> None:
    with pytest.raises(InputError, match="reproduce has no option 'full'"):
        thalweg.reproduce("accl", full=True)
    with pytest.raises(InputError, match="unknown subject 'figures'; known are messages, application, resources"):
        thalweg.reproduce("accl", only=["figures"])
