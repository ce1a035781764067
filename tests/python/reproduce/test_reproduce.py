# SPDX-License-Identifier: Apache-2.0
"""Are published numbers listed beside times that the benchmark measures, and is every difference explained?"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from thalweg.cli import main
from thalweg.errors import CheckFailed, InputError
from thalweg.papers import NOTABLE, Number, Row, mean, published, short
from thalweg.papers.plots import check_plots
from thalweg.spec import Datatype
from thalweg.systems.mpi_fpga import bench
from thalweg.systems.mpi_fpga import reproduce_programs as programs
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.reproduce import (
    COLLECTIVES,
    DIRECT,
    Evaluation,
    Measurements,
    indirect,
    own_links,
    table_bits,
    variant,
)
from thalweg.systems.mpi_fpga.spec import Algorithm


@pytest.mark.parametrize(
    ("published", "measured", "ratio"),
    [
        (10, 12, 1.2),
        ([2, 32], 16, 1),
        ([2, 32], 1, 0.5),
        ([2, 32], [1, 3], 1),
        ([2, 32], [0.5, 1], 0.5),
        ([2, 32], [64, 70], 2),
        (None, 3, None),
    ],
)
def test_ratios(published: Number, measured: Number, ratio: float | None) -> None:
    row = Row("id", "what", published, measured, "us")
    assert row.ratio == ratio
    assert row.as_json()["ratio"] == ratio
    assert row.differs == (ratio is not None and abs(ratio - 1) > 0.25)


def test_small_things() -> None:
    assert mean([2, 8]) == pytest.approx(4)
    assert [short(size) for size in (4, 1000, 1024, 1 << 20, 3 << 19)] == ["4", "1000", "1K", "1M", "1536K"]
    assert table_bits(32, 16) == 32 * (16 * 18 + 8) == published("mpi-fpga")["mpifpga.ct"]["value"]


def test_table_4_is_whole() -> None:
    """Largest and smallest are in order, and no deviation exceeds their difference."""
    table = published("mpi-fpga")["mpifpga.cpu"]
    assert table["value"].keys() == set(COLLECTIVES)
    for of_collective in table["value"].values():
        assert of_collective.keys() == {"32", "64", "128"}
        for sizes in of_collective.values():
            assert len(sizes) == len(table["sizes"])
            assert all(smallest < largest and deviation < largest - smallest for deviation, largest, smallest in sizes)


def test_a_link_for_each_edge() -> None:
    torus = Cluster.load("mpi-fpga-torus-2x2x2")
    tree = own_links(torus)
    joined = {frozenset((a, b)) for a, _, b, _ in tree.topology.links.tolist()}
    # Paragraph 3.1 of the paper: in a binomial tree process 0 has the children 1, 2 and 4.
    assert joined == {frozenset(edge) for edge in [(0, 1), (0, 2), (0, 4), (2, 3), (4, 5), (4, 6), (6, 7)]}
    assert tree.collective_ports == 3
    assert tree.name != own_links(Cluster.load("mpi-fpga-torus-4x4x2")).name  # times are stored by the cluster's name


def test_times_are_the_benchmarks() -> None:
    cluster = Cluster.load("mpi-fpga-torus-2x2x2")
    plan = bench.CollectivePlan(cluster, "allreduce", 8, [1024], "exchange", datatype=Datatype.FLOAT64)
    (one,) = bench.measure_collective(plan)
    time = Measurements(1 << 30).time(cluster, "allreduce", 1024)
    assert (time.us, time.bound_us) == (one.time_us, one.bound_us)
    # The whole vector of a reduce-scatter, of which each of 8 ranks gets 128 bytes.
    plan = bench.CollectivePlan(cluster, "reduce_scatter", 8, [128], "tree", datatype=Datatype.FLOAT64)
    (one,) = bench.measure_collective(plan)
    assert Measurements(1 << 30).time(cluster, "reduce_scatter", 1024).us == one.time_us


def test_a_straight_line_meets_what_is_simulated() -> None:
    cluster = Cluster.load("mpi-fpga-torus-2x2x2")
    simulated, line = Measurements(1 << 30), Measurements(64 * (64 << 10))
    assert line.simulated(cluster, "allgather", 64 << 10)
    assert not line.simulated(cluster, "allgather", 128 << 10)
    assert line.simulated(cluster, "gather", 1 << 20)
    for size in (128 << 10, 512 << 10):
        assert line.us(cluster, "allgather", size) == pytest.approx(
            simulated.time(cluster, "allgather", size).us, rel=0.03
        )


def test_a_variant_has_its_value_and_its_name() -> None:
    cluster = variant(Cluster.load("mpi-fpga-torus-2x2x2"), "host", pcie_latency_ns=520.0)
    assert (cluster.values.host.pcie_latency_ns, cluster.values.link.latency_ns) == (520, 440)
    assert cluster.name == "mpi-fpga-torus-2x2x2 with pcie_latency_ns = 520"
    first, other = (Measurements(0).time(c, "broadcast", 8).us for c in (Cluster.load("mpi-fpga-torus-2x2x2"), cluster))
    assert other - first == pytest.approx(2 * 0.26)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("reproduce")
    words = [
        "--only",
        "reduce",
        "--only",
        "gather",
        "--json",
        str(folder / "rows.json"),
        "--plot",
        str(folder / "plots"),
    ]
    assert main(["reproduce", "mpi-fpga", *words]) == 0
    for picture in ("figures-8-9.png", "figure-10.png"):
        assert (folder / "plots" / picture).read_bytes().startswith(b"\x89PNG")
    return json.loads((folder / "rows.json").read_text())["rows"]


@pytest.mark.long
def test_rows_of_published_numbers(rows: list[dict[str, Any]]) -> None:
    numbers = published("mpi-fpga")
    assert all(row.keys() >= {"id", "published", "measured", "unit", "ratio", "note"} for row in rows)
    assert {row["id"] for row in rows} <= numbers.keys()
    for row in rows:
        assert row["unit"] == numbers[row["id"]]["unit"]
        if row["ratio"] is not None and abs(row["ratio"] - 1) > NOTABLE:
            assert row["note"], row
    assert {row["nodes"] for row in rows if row.get("network") == "direct"} == DIRECT.keys()


@pytest.mark.long
def test_speedups_are_table_4_over_our_times(rows: list[dict[str, Any]]) -> None:
    times = {
        (row["collective"], row["nodes"], row["bytes"]): row["measured"]
        for row in rows
        if row.get("network") == "direct"
    }
    single = [row for row in rows if "software_us" in row]
    assert len(single) == 2 * 3 * 2
    for row in single:
        us = times[row["collective"], row["nodes"], row["bytes"]]
        assert row["measured"] == pytest.approx([software / us for software in row["software_us"]])
    reduce = next(row for row in single if (row["collective"], row["nodes"], row["bytes"]) == ("reduce", 128, 1 << 20))
    assert reduce["software_us"] == [3807, 4709.9]  # Table 4
    (gather,) = (row for row in rows if row["id"] == "mpifpga.gather.128n.1KB")
    assert gather["measured"] == times["gather", 128, 1 << 10]


@pytest.mark.long
def test_mechanisms_hold(rows: list[dict[str, Any]]) -> None:
    """Without their bottlenecks the long collectives are faster: twice if two edges no longer share a link, except for
    the pauses of 2 cycles after a packet of 16 flits, which the two edges had filled for each other."""
    for nodes in DIRECT:
        torus, apart = (
            next(r for r in rows if r.get("collective") == "reduce" and r.get("nodes") == nodes and r.get("bytes") == 1 << 20
                 and ("edge of the tree" in r.get("network", "")) == own and r["id"] == "mpifpga.curves")
            for own in (False, True)
        )  # fmt: skip
        assert 2 * 16 / 18 < torus["measured"] / apart["measured"] < 2.2


def test_another_paper_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["reproduce", "moby-dick"]) == 2
    assert "unknown paper 'moby-dick'; known are mpi-fpga, accl, peach2, smi" in capsys.readouterr().err
    file = tmp_path / "file"
    file.touch()
    assert main(["reproduce", "--plot", str(file)]) == 2
    assert main(["reproduce", "--only", "nothing"]) == 2


def test_fat_trees_of_other_sizes() -> None:
    preset = Cluster.load("mpi-fpga-fattree-8")
    cluster = indirect(preset, 8, 16)
    assert (cluster.topology.hosts, cluster.topology.link_ports) == (16, 8)
    assert cluster.values == preset.values
    assert Measurements(0).time(cluster, "allreduce", 8).algorithm == Algorithm.TREE  # half as long as its exchange


@pytest.mark.long
def test_algorithms_of_the_direct_network() -> None:
    """Table 1: recursive doubling for short allreduces and allgathers, a ring for long allgathers, binomial trees."""
    cluster = Cluster.load("mpi-fpga-torus-4x4x2")
    for operation, size, algorithm in (
        ("allreduce", 8, Algorithm.EXCHANGE),
        ("allreduce", 64 << 10, Algorithm.TREE),
        ("allgather", 8, Algorithm.EXCHANGE),
        ("allgather", 64 << 10, Algorithm.RING),
        ("broadcast", 8, Algorithm.TREE),
        ("broadcast", 1 << 20, Algorithm.RING),
        ("reduce_scatter", 64 << 10, Algorithm.TREE),
    ):
        assert Measurements(1 << 30).time(cluster, operation, size).algorithm == algorithm, (operation, size)


@pytest.mark.long
def test_indirect_over_direct() -> None:
    """The ratios are the geometric means of the times listed beside them."""
    evaluation = Evaluation()
    rows = evaluation.indirect_networks()
    points = {
        (row.about["collective"], row.about["nodes"], row.about["bytes"], row.about["network"]): row.measured
        for row in rows
        if row.id == "mpifpga.curves"
    }
    direct = evaluation.direct(64)
    (ratio,) = (row for row in rows if row.what.startswith("allreduce, 64 nodes, radix 16"))
    faster = [
        evaluation.measured.time(direct, "allreduce", size).us / points["allreduce", 64, size, "indirect-16"]
        for size in (8, 1 << 10, 4 << 10)
    ]
    assert ratio.measured == pytest.approx((faster[0] * faster[1] * faster[2]) ** (1 / 3))
    assert all(row.note for row in rows if row.differs)
    assert {row.id for row in rows} <= published("mpi-fpga").keys()
    assert [row.published for row in rows if row.id == "mpifpga.sharp"] == [2.83, 14.48]  # SHArP's abstract
    scaled = {row.about["nodes"]: row for row in rows if row.id == "mpifpga.scaling"}
    assert scaled.keys() == {2, 4, 8, 16, 32, 64, 128}
    assert all(row.about["bound_us"] < row.measured for row in scaled.values())


@pytest.mark.long
def test_programs_are_built_and_run() -> None:
    """Of Table 5's programs, and of no others; a program that cannot solve its problem gives no result."""
    assert programs.PROGRAMS.keys() < published("mpi-fpga")["mpifpga.apps"]["value"].keys()
    report = programs.run("cg", ("-n", "12"), 4, "mpi-fpga-torus-2x2x2")
    assert {row["function"] for row in report["instances"]} == {"MPI_Allreduce"}
    assert report["software_time_us"] > report["virtual_time_us"]
    with pytest.raises(CheckFailed, match="cg on 4 ranks ended with 2: cg: 1 points are too few"):
        programs.run("cg", ("-n", "1"), 4, "mpi-fpga-torus-2x2x2")


@pytest.mark.parametrize("paper", ["mpi-fpga", "accl", "smi", "vcsn", "peach2"])
def test_a_name_of_a_picture_is_no_folder(paper: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`bench --plot` takes a file; here it is a folder, which may exist."""
    pytest.importorskip("matplotlib")
    file = tmp_path / "figure.png"
    assert main(["reproduce", paper, "--plot", str(file)]) == 2
    assert capsys.readouterr().err == f"thalweg: --plot {file}: give a folder; each figure is a file in it\n"
    assert not file.exists()


def test_a_folder_that_nothing_can_be_written_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match="figures cannot be written into it: permission denied"):
        check_plots(tmp_path)
    monkeypatch.undo()
    check_plots(tmp_path)
    check_plots(tmp_path / "missing" / "folder")
    assert (tmp_path / "missing" / "folder").is_dir()
