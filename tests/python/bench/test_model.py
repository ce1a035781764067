# SPDX-License-Identifier: Apache-2.0
"""Are the closed forms those of the paper, and does `thalweg bench --engine model` label its results as closed forms?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import thalweg
from thalweg.cli import main
from thalweg.systems.mpi_fpga import bounds, model
from thalweg.systems.mpi_fpga.cluster import Cluster

# L = 100, o = 10, g = 10, G = 1/2, an adder of 3.
P8 = model.LogGP(100, 10, 10, 0.5, 8, 3)
P9 = model.LogGP(100, 10, 10, 0.5, 9, 3)


@pytest.mark.parametrize(
    ("operation", "size", "parameters", "in_switch", "software"),
    [
        ("broadcast", 64, P8, 10 + 32 + 100 + 10, 3 * (10 + 32 + 100 + 10)),  # Equations 4 and 3
        ("broadcast", 10_000, P9, 10 + 5000 + 100 + 10, 10 + 3 * 10 + 4 * 5000),  # Equations 4 and 5: the root is last
        ("reduce", 64, P8, 152 + 3 * 3, 456),
        ("barrier", 0, P9, 120, 4 * 120),
        ("allreduce", 64, P8, 10 + 3 * 32 + 100 + 10 + 9, 456),  # exchanged
        ("allreduce", 640, P8, 10 + 320 + 200 + 10 + 9, 3 * (10 + 320 + 100 + 10)),  # up and down
        ("gather", 64, P8, 10 + 7 * 32 + 100 + 10, 3 * 120 + 7 * 32),
        ("scatter", 64, P9, 10 + 8 * 32 + 100 + 10, 4 * 120 + 8 * 32),
        ("allgather", 64, P8, 344, 584),
        ("alltoall", 64, P8, 344, 7 * 152),
        ("reduce_scatter", 64, P8, 10 + 8 * 32 + 200 + 10 + 9, 7 * 152),
        ("scan", 64, P8, 161, 456),
        ("exscan", 64, P8, 161, 456),
    ],
)
def test_equations(operation: str, size: int, parameters: model.LogGP, in_switch: float, software: float) -> None:
    assert model.in_switch_ticks(operation, size, parameters) == in_switch
    assert model.software_ticks(operation, size, parameters) == software


def test_one_rank_takes_no_time() -> None:
    alone = model.LogGP(0, 10, 10, 0.5, 1, 3)
    assert model.in_switch_ticks("allreduce", 8, alone) == model.software_ticks("allreduce", 8, alone) == 0


def test_parameters_are_the_clusters() -> None:
    """Per hop 110 cycles of link and 4 of router; 65 cycles of PCIe, 375 of software; 64 Gb/s are 32 bytes per cycle."""
    network = bounds.Network.of(Cluster.load("mpi-fpga-torus-4x4x2").fabric_config())
    assert model.parameters(network, range(32)) == model.LogGP(5 * 114, 0, 0, 1 / 32, 32, 14)
    assert model.parameters(network, [0, 1], host=True).overhead == 65
    software = model.parameters(network, range(32), True, 375)
    assert (software.overhead, software.gap) == (440, 440)


@pytest.mark.sample(4)
@pytest.mark.parametrize("operation", [*bounds.OPERATIONS, "latency", "bandwidth"])
def test_rows_say_what_they_are(operation: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, picture = tmp_path / "rows.json", tmp_path / "rows.svg"
    sizes = [] if operation == "barrier" else ["--sizes", "8,1K,1M"]
    words = ["--cluster", "torus:4x2", "--engine", "model", "--json", str(file), "--plot", str(picture)]
    assert main(["bench", operation, *words, *sizes]) == 0
    assert "closed forms (LogGP), nothing executed" in capsys.readouterr().out
    rows = json.loads(file.read_text())["rows"]
    assert [row["bytes"] for row in rows] == ([0] if operation == "barrier" else [8, 1 << 10, 1 << 20])
    assert "(LogGP)" in picture.read_text()
    for row in rows:
        assert (row["engine"], row["verified"], row["cluster"]) == ("model", None, "torus:4x2")
        assert row["bound_kernel_us"] <= row["time_kernel_us"] < row["time_us"]


def test_a_message_takes_what_the_simulator_measures(tmp_path: Path) -> None:
    times = []
    for engine in ("sim", "model"):
        file = tmp_path / f"{engine}.json"
        words = ["--cluster", "mpi-fpga-torus-2x2x2", "--hops", "3", "--sizes", "32,64K", "--engine", engine]
        assert main(["bench", "latency", *words, "--json", str(file)]) == 0
        times.append([row["time_us"] for row in json.loads(file.read_text())["rows"]])
    assert times[1] == pytest.approx(times[0], rel=0.15)  # packets have headers, and channels pause between packets
    assert all(closed < simulated for simulated, closed in zip(*times, strict=True))


def test_a_closed_form_below_a_bound_is_no_wrong_measurement() -> None:
    """It ignores that edges of a tree share links."""
    (row,) = thalweg.measure("alltoall", "mpi-fpga-fattree-8", engine="model", sizes=[4096])
    assert row["share"] > 1


def test_no_algorithm_of_a_closed_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "barrier", "--cluster", "ring:4", "--engine", "model", "--algorithm", "tree"]) == 2
    assert "has one closed form per collective" in capsys.readouterr().err
    assert main(["bench", "traffic", "--cluster", "ring:4", "--engine", "model"]) == 2
