# SPDX-License-Identifier: Apache-2.0
"""Does `thalweg reproduce smi` report the values that follow from banks, links and the paper's own inequality?"""

from __future__ import annotations

import dataclasses
import json
import shutil
from typing import Any

import pytest
import thalweg
from thalweg.cli import main
from thalweg.systems.smi import bounds
from thalweg.systems.smi import reproduce as reproduction
from thalweg.systems.smi.cluster import Cluster
from thalweg.systems.smi.reproduce import Evaluation
from thalweg.systems.smi.reproduce_programs import Grid, Stencil

NOCTUA = Cluster.load("smi-noctua")
BUS = Cluster.load("smi-noctua-bus")

simulates = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed"),
]


def slow_links(cluster: Cluster) -> Cluster:
    links = {name: link.model_copy(update={"gbit_s": 1.0}) for name, link in cluster.links.items()}
    return dataclasses.replace(cluster, links=links)


def test_the_inequality_is_the_paper_s() -> None:
    """Section 5.4.2 with halos of one point. Banks of 19.2 GB/s read and write a point of 4 bytes; a kernel pops one
    per cycle."""
    memory, network = 4 * 19.2e3 / 2 / 4, 259.6
    for nx, ny in ((64, 64), (2048, 1024)):
        left, right = bounds.inequality_us(NOCTUA, nx, ny, 4)
        assert left == pytest.approx((nx - 2) * (ny - 2) / memory)
        assert right == pytest.approx((2 * nx + 2 * ny) * 2 / network)
    # (N - 2)^2 / 9600 = 8 N / 259.6
    hidden = [n for n in range(64, 1024) if (sides := bounds.inequality_us(NOCTUA, n, n, 4))[0] >= sides[1]]
    assert hidden[0] == 300 and hidden == list(range(300, 1024))


@pytest.mark.parametrize("grid", [(1, 2), (2, 2), (2, 4), (1, 8), (8, 1)])
@pytest.mark.parametrize("banks", [1, 4])
def test_the_inequality_is_on_the_safe_side_on_the_torus(grid: Grid, banks: int) -> None:
    for cluster in (NOCTUA, slow_links(NOCTUA)):
        found = 0
        for nx in (64, 128, 320, 1024, 4096):
            for ny in (64, 128, 320, 1024, 4096):
                interior, volume = bounds.inequality_us(cluster, nx, ny, banks)
                if interior >= volume:
                    found += 1
                    halos = bounds.halos_us(cluster, grid, nx, ny, banks)
                    assert halos <= bounds.memory_us(cluster, nx * ny, banks), (nx, ny)
        assert 0 < found < 25


def test_halos_of_a_pair_by_hand() -> None:
    hop, packet, cycle = NOCTUA.link.latency_ns / 1e3, 32 * 8 / 40e3, 1 / 259.6
    # Ranks 0 and 1 are neighbours. A column's first element is one of many; a row must arrive completely.
    assert bounds.halos_us(NOCTUA, (1, 2), 70, 64, 4) == pytest.approx(hop)
    assert bounds.halos_us(NOCTUA, (1, 2), 700, 64, 4) == pytest.approx(700 * cycle)
    assert bounds.halos_us(NOCTUA, (2, 1), 64, 64, 4) == pytest.approx(hop + 64 * cycle)
    assert bounds.halos_us(slow_links(NOCTUA), (2, 1), 64, 704, 4) == pytest.approx(101 * 40 * packet)
    # On a line a row crosses four links, one of which carries all rows; neighbours' columns use others.
    assert bounds.halos_us(BUS, (2, 4), 64, 64, 4) == pytest.approx(4 * hop + 64 * cycle)
    assert bounds.halos_us(slow_links(BUS), (2, 4), 64, 704, 4) == pytest.approx(4 * 101 * 40 * packet)
    assert bounds.halos_us(NOCTUA, (1, 1), 64, 64, 4) == 0


LARGE = [(192, 192), (320, 320), (512, 512), (512, 64)]  #: points whose simulation takes seconds


@pytest.mark.sample(7)
@pytest.mark.parametrize(
    ("cluster", "grid", "banks", "points", "bound_by"),
    [
        pytest.param(*each, marks=[*simulates, *[pytest.mark.long] * (each[3] in LARGE)])
        for each in [
            (NOCTUA, (2, 2), 4, (64, 64), "halos"),
            (NOCTUA, (2, 2), 4, (128, 128), "memory"),
            (NOCTUA, (2, 2), 1, (64, 64), "memory"),
            (NOCTUA, (2, 4), 4, (128, 64), "halos"),
            (NOCTUA, (2, 4), 4, (192, 192), "memory"),
            (NOCTUA, (2, 4), 4, (320, 320), "memory"),
            (BUS, (2, 4), 4, (64, 256), "halos"),
            (BUS, (2, 4), 4, (256, 256), "memory"),
            (slow_links(NOCTUA), (2, 2), 4, (256, 256), "halos"),
            (slow_links(NOCTUA), (2, 2), 4, (512, 512), "memory"),
            (slow_links(NOCTUA), (2, 4), 4, (512, 64), "halos"),
        ]
    ],
)
def test_a_step_is_bound_by_what_the_model_says(
    cluster: Cluster, grid: Grid, banks: int, points: tuple[int, int], bound_by: str
) -> None:
    nx, ny = points
    least = {
        "memory": bounds.memory_us(cluster, nx * ny, banks),
        "halos": bounds.halos_us(cluster, grid, nx, ny, banks),
    }
    assert bound_by == max(least, key=least.__getitem__)
    step, _ = Stencil(nx * grid[0], ny * grid[1]).step_us(cluster, grid, banks, (12, 36))
    # Waits for kernels' pipelines and turns of polling are added, and are hidden if memory is the bound.
    assert least[bound_by] * 0.98 <= step <= least[bound_by] * (1.03 if bound_by == "memory" else 1.15)


@pytest.mark.parametrize("grid", [pytest.param(grid, marks=simulates) for grid in ((1, 1), (2, 4))])
def test_steps_take_the_same(grid: Grid) -> None:
    """So that a few steps predict many."""
    stencil = Stencil(512, 512)
    step, around = stencil.step_us(NOCTUA, grid, 4, (2, 4))
    assert stencil.us(NOCTUA, grid, 4, 24) == pytest.approx(around + 24 * step, rel=0.01)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The command on small problems."""
    folder = tmp_path_factory.mktemp("reproduce")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduction, "SIZES", (1 << 10, 1 << 12))
        patch.setattr(reproduction, "COLLECTIVE_SIZES", (4,))
        patch.setattr(reproduction, "DOMAIN", 1024)
        patch.setattr(reproduction, "WEAK", (256, 1024))
        patch.setattr(reproduction, "MATRICES", ((1024, 1024), (512, 2048)))
        words = ["--no-resources", "--json", str(folder / "rows.json"), "--plot", str(folder / "plots")]
        assert main(["reproduce", "smi", *words]) == 0
    for picture in ("figure-11", "figures-12-13", "figure-15", "figure-18", "figure-19"):
        assert (folder / f"plots/{picture}.png").read_bytes().startswith(b"\x89PNG")
    found: list[dict[str, Any]] = json.loads((folder / "rows.json").read_text())["rows"]
    return found


@pytest.mark.long
class TestCommand:
    def test_two_fpgas_have_twice_the_memory(self, rows: list[dict[str, Any]]) -> None:
        matrices = [row for row in rows if row["id"] == "smi.gesummv"]
        assert len(matrices) == 2 and all(row["published"] == 2.0 for row in matrices)
        assert all(row["measured"] == pytest.approx(2.0, rel=0.05) for row in matrices)

    def test_banks_and_fpgas_multiply(self, rows: list[dict[str, Any]]) -> None:
        strong = [row for row in rows if "ideal" in row]
        assert [row["ideal"] for row in strong] == [1, 4, 4, 16, 32]
        for row in strong:
            assert 0.9 * row["ideal"] <= row["measured"] <= 1.001 * row["ideal"]
        # Memory bounds all of them, so that times follow rates: 67.01 / 4 over 16.78.
        four = next(row for row in strong if row["id"] == "smi.stencil.4x1")
        assert four["stream_times"] == pytest.approx(67.01 / 16.78, rel=0.01)
        for row in strong[1:]:
            assert row["unexplained"] == pytest.approx(row["published"] / row["stream_times"])
            assert row["note"]

    def test_a_step_takes_what_memory_and_halos_need(self, rows: list[dict[str, Any]]) -> None:
        weak = [row for row in rows if row["id"] == "smi.weak"]
        assert [(row["size"], row["ranks"]) for row in weak] == [(256, 4), (256, 8), (1024, 4), (1024, 8)]
        for row in weak:
            least = max(row["memory_us"], row["halos_us"])
            assert least * 0.98 <= row["measured"] <= 1.15 * least
        (ratio,) = (row for row in rows if row["id"] == "smi.stencil.weak")
        assert ratio["measured"] == pytest.approx(2.0, rel=0.05)
        (bus,) = (row for row in rows if row["id"] == "smi.stencil.bus")
        assert bus["measured"] == pytest.approx(1.0, rel=0.01)


@pytest.mark.long
def test_resources() -> None:
    """Tables 1 and 2: ours are not larger, and all FIFOs are counted. Eight LUTs hold 32 words of 14 bits."""
    pytest.importorskip("pyosys")
    rows = [row for row in thalweg.reproduce("smi", programs=False) if row["id"].startswith("smi.resources.")]
    assert {name for name in Evaluation().numbers if name.startswith("smi.resources.")} <= {row["id"] for row in rows}
    assert all(row["measured"] <= row["published"] for row in rows if row["published"] is not None)
    pairs = {links: next(row for row in rows if row["id"] == f"smi.resources.{links}") for links in (1, 4)}
    for links, row in pairs.items():
        # One to each link, two of each kernel's to each kernel, and two of each port.
        fifos = links + 2 * links**2 + 2 * links
        assert row["fifos"]["lutram"] == fifos * -(-256 // 14) * 8
        assert row["measured"] == row["kernels"]["lut"] + row["fifos"]["lut"]
    assert pairs[4]["kernels"]["ff"] > 4 * pairs[1]["kernels"]["ff"]


def test_the_rate_of_the_hosts_path_that_decides_broadcasts(monkeypatch: pytest.MonkeyPatch) -> None:
    """On four ranks a binomial tree uses the hosts' path twice: at the printed rate both take equally long."""
    evaluation = Evaluation(programs=False, resources=False)
    monkeypatch.setattr(reproduction, "COLLECTIVE_SIZES", (4,))
    monkeypatch.setattr(reproduction, "RANKS", (4,))
    *rows, faster = evaluation._collectives()
    assert faster.measured == faster.published == 1 and faster.note.startswith("all are")
    slow = next(row for row in rows if row.about["operation"] == "broadcast")
    hosts = 2 * (36.61 + 262144 / (2.0 * 1e3))
    slow.measured, slow.about = hosts, {"host_us": hosts - 20, "equal_gb": evaluation.equal_gb(262144, hosts, 4)}
    assert slow.about["equal_gb"] == pytest.approx(2)
    faster = evaluation._faster([slow, rows[1]])
    assert faster.measured == 0.5 and "with less than 2.00 all broadcasts" in faster.note
