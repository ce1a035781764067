# SPDX-License-Identifier: Apache-2.0
"""Does `thalweg tune` find the fastest algorithm, are its files read back, and are wrong ones refused with one line?"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from thalweg.cli import main
from thalweg.cluster.file import presets
from thalweg.resources import resource
from thalweg.systems.mpi_fpga import bench, choice, tuning
from thalweg.systems.mpi_fpga._sim import Choice
from thalweg.systems.mpi_fpga.bench import CollectivePlan
from thalweg.systems.mpi_fpga.choice import From
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.spec import Algorithm, Collective
from thalweg.systems.mpi_fpga.tuning import Measured

TREE, EXCHANGE, RING, HALVING = Algorithm.TREE, Algorithm.EXCHANGE, Algorithm.RING, Algorithm.HALVING
ALL = (1 << len(Algorithm)) - 1


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    """Invented times; a table equal to that of fewer ranks is omitted."""

    def row(ranks: int, operation: str, size: int, **times: float | None) -> Measured:
        return Measured(ranks, operation, size, {Algorithm[name.upper()]: us for name, us in times.items()})

    rows = [
        row(4, "allreduce", 8, exchange=1.0, tree=2.0),
        row(4, "allreduce", 64, exchange=1.5, tree=2.0),
        row(4, "allreduce", 4096, tree=3.0, exchange=4.0),
        row(4, "allreduce", 65536, tree=9.0, exchange=None),
        row(4, "barrier", 0, exchange=1.0, tree=2.0),
        row(8, "allreduce", 8, exchange=1.0, tree=2.0),
        row(8, "allreduce", 4096, tree=3.0, exchange=4.0),
        row(8, "barrier", 0, tree=1.0, exchange=2.0),
    ]
    file = tmp_path / "t.toml"
    file.write_text(tuning.text(Cluster.load("ring:8"), rows, "thalweg tune"))
    assert set(tuning.load(file, Cluster.load("ring:8"))) == {
        From(4, 0, Collective.ALLREDUCE, (EXCHANGE, TREE)),
        From(4, 4096, Collective.ALLREDUCE, (TREE, EXCHANGE)),
        From(4, 0, Collective.BARRIER, (EXCHANGE, TREE)),
        From(8, 0, Collective.BARRIER, (TREE, EXCHANGE)),
    }
    assert '0 = ["exchange", "tree"]  # 8 bytes: 1, 2\n' in file.read_text()


def test_the_last_of_ranks_then_of_bytes_is_taken_that_there_is() -> None:
    table = Choice(
        [
            From(0, 0, Collective.ALLREDUCE, (TREE,)),
            From(8, 0, Collective.ALLREDUCE, (EXCHANGE, TREE)),
            From(8, 1024, Collective.ALLREDUCE, (RING, HALVING, TREE)),
            From(64, 0, Collective.ALLREDUCE, (HALVING,)),
            From(8, 0, Collective.BARRIER, (TREE,)),
        ]
    )

    def of(ranks: int, size: int, known: int = ALL, collective: Collective = Collective.ALLREDUCE) -> int | None:
        return table.of(collective, ranks, size, known)

    assert [of(ranks, 1 << 20) for ranks in (1, 7, 8, 63, 64, 1000)] == [TREE, TREE, RING, RING, HALVING, HALVING]
    assert [of(8, size) for size in (0, 1023, 1024)] == [EXCHANGE, EXCHANGE, RING]
    assert of(8, 1024, 1 << HALVING | 1 << TREE) == HALVING
    assert of(8, 1024, 1 << TREE) == TREE
    assert of(64, 0, 1 << TREE) is None, "fewer ranks say nothing of more"
    assert of(7, 0, ALL, Collective.BARRIER) is None


def test_the_command_measures_all_and_writes_the_fastest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Compared with `thalweg bench` of each algorithm by itself."""
    file, rows = tmp_path / "t.toml", tmp_path / "t.json"
    words = ["tune", "--cluster", "mpi-fpga-torus-2x2x2", "--ranks", "3,8", "--sizes", "8,32K"]
    assert main([*words, "-o", str(file), "--json", str(rows)]) == 0
    assert "allreduce" in capsys.readouterr().out
    cluster = Cluster.load("mpi-fpga-torus-2x2x2")
    table = Choice(tuning.load(file, cluster))
    measured = json.loads(rows.read_text())["rows"]
    assert {(row["ranks"], row["operation"]) for row in measured} >= {
        (3, "allreduce"),
        (8, "allgather"),
        (8, "barrier"),
    }
    for row in measured:
        plan = CollectivePlan(cluster, row["operation"], row["ranks"], [8, 32768])
        times = bench.host_times(plan, row["size"], plan.algorithms)
        known = {a.name.lower(): us for a, us in times.items()}
        assert {name: us for name, us in row["times"].items() if us is not None}.items() <= known.items()
        assert table.of(choice.COLLECTIVES[row["operation"]], row["ranks"], row["size"], ALL) == min(
            times, key=times.__getitem__
        )


def test_sizes_that_are_left_out_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At most 2 MB per rank, and whole elements."""
    words = ["tune", "--cluster", "mpi-fpga-torus-2x2x2", "--ranks", "4", "--sizes", "7,8,1M"]
    assert main([*words, "-o", str(tmp_path / "t.toml")]) == 0
    left_out = [line.split(maxsplit=3) for line in capsys.readouterr().out.split("bytes left out")[1].splitlines()[1:]]
    assert ["4", "allgather", "1048576", "more than 2 MB per rank"] in left_out
    assert ["4", "allreduce", "7", "no whole float64"] in left_out
    assert not any(row[1] == "barrier" or row[1:3] == ["allreduce", "1048576"] for row in left_out)


def chosen(cluster: Cluster, operation: str, ranks: int, size: int) -> tuple[Algorithm, dict[Algorithm, float]]:
    """The algorithm that a run chooses, and the times of all algorithms in us."""
    plan = CollectivePlan(cluster, operation, ranks, [size])
    known = sum(1 << a for a in plan.algorithms)
    found = Choice(tuning.default(cluster)).of(choice.COLLECTIVES[operation], ranks, size, known)
    assert found is not None
    return Algorithm(found), bench.host_times(plan, size, plan.algorithms)


LARGE = [name for name in presets("mpi-fpga") if Cluster.load(name).topology.hosts > 64]


@pytest.mark.sample(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name in LARGE else []) for name in presets("mpi-fpga")]
)
def test_the_default_is_the_fastest_on_every_preset(name: str) -> None:
    """Short and long, on all nodes; between measured sizes an algorithm may be used slightly beyond its best range."""
    cluster = Cluster.load(name)
    ranks = cluster.topology.hosts
    for operation, size in (
        ("barrier", 0),
        ("allreduce", 8),
        ("allreduce", 12_000),
        ("allgather", 24),
        ("reduce_scatter", 24),
    ):
        algorithm, times = chosen(cluster, operation, ranks, size)
        assert times[algorithm] <= 1.15 * min(times.values()), (operation, size, times)


@pytest.mark.parametrize("name", ["torus:4x4", "ring:9", "fattree:16", "star:8", "mesh:3x3"])
def test_the_default_suits_other_clusters(name: str) -> None:
    cluster = Cluster.load(name)
    for each in (cluster, cluster.by_rank()):
        algorithm, times = chosen(each, "allreduce", cluster.topology.hosts, 8)
        assert times[algorithm] <= 1.5 * min(times.values()), times


def test_presets_have_a_tuning_of_their_own() -> None:
    files = list(resource(tuning.FOLDER).glob("*.toml"))
    assert {*tuning.KINDS.values()} <= {file.stem for file in files} <= {*presets()}
    for file in files:
        cluster = Cluster.load(file.stem)
        assert tuning.load(file, cluster) == tuning.default(cluster)
        assert tuning.default(replace(cluster, name="mine.toml")) in [
            tuning.default(Cluster.load(name)) for name in tuning.KINDS.values()
        ]


RIGHT = 'cluster = "ring:5"\n[ranks.3.allreduce]\n0 = ["tree"]\n'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (RIGHT.replace("ring:5", "ring:6"), ":1: was measured on ring:6, but this is ring:5"),
        (RIGHT.replace("allreduce", "allredoce"), ":3: unknown collective 'allredoce'; known are barrier"),
        (RIGHT.replace('"tree"', '"tree", "oak"'), ":3: unknown algorithm 'oak'; known are tree"),
        (RIGHT.replace('["tree"]', '"tree"'), ":3: ranks.3.allreduce.0: is not allowed in a tuning file"),
        (RIGHT.replace("[ranks.3.", "[ranks.few."), ":3: ranks.few.allreduce.0: is not allowed"),
        (RIGHT.replace("0 =", "-1 ="), ":3: ranks.3.allreduce.-1: is not allowed"),
        (RIGHT + "[ranks.4]\n", ": ranks.4: is not allowed"),
        (RIGHT + "[other]\na = 1\n", ":5: other.a: is not allowed"),
        (RIGHT.partition("\n")[2], ": 'cluster' is missing"),
        ("cluster = ", ":1: is not TOML"),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_wrong_file_gets_one_line(
    text: str | None, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "t.toml"
    if text is not None:
        file.write_text(text)
    assert main(["run", "-n", "3", "--cluster", "ring:5", "--tuning", str(file), "--", "/bin/true"]) == 125
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    assert captured.err.startswith(f"thalweg: {file}") and line in captured.err


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--cluster", "ring:5"], "Missing option '-o'"),
        (["--cluster", "ring:5", "-o", "/nowhere/t.toml"], "there is no directory"),
        (["--cluster", "ring:5", "--ranks", "6", "-o", "t.toml"], "6 ranks do not fit on ring:5"),
        (["--cluster", "ring:5", "--ranks", "1,4", "-o", "t.toml"], "'1,4' is not a list of numbers of ranks"),
        (["--cluster", "ring:5", "--sizes", "x", "-o", "t.toml"], "'x' is not a size"),
    ],
)
def test_bad_input_gets_one_line(words: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and line in captured.err and captured.err.count("\n") == 1


def test_what_comes_nearer_is_tried_with_longer_messages() -> None:
    tree, ring, exchange = Algorithm.TREE, Algorithm.RING, Algorithm.EXCHANGE
    short = {tree: 1.0, ring: 9.0, exchange: 3.0}
    assert set(choice.promising(short, 8192, {})) == {tree, ring, exchange}
    assert set(choice.promising({tree: 2.0, ring: 12.0, exchange: 6.0}, 1 << 15, short)) == {tree, ring}
    assert set(choice.promising({tree: 4.0, ring: 23.0}, 1 << 16, {tree: 2.0, ring: 12.0})) == {tree}
    assert set(choice.promising({tree: 4.0, ring: 7.9}, 1 << 16, {})) == {tree, ring}
