# SPDX-License-Identifier: Apache-2.0
"""Are the hardware's collective units equal to the simulator's, in whole clusters? And would a difference be detected?"""

from __future__ import annotations

from pathlib import Path

import pytest
from thalweg import cli
from thalweg.rtl.project import Project
from thalweg.spec import Datatype, Operator
from thalweg.systems.mpi_fpga import rtl_engine
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.cosim import compare, with_few_rows

CLUSTER = "ring:2"
SUMS = {Datatype.FLOAT64: [Operator.SUM], Datatype.INT32: [Operator.SUM]}


def cosim(cluster: str | Path, runs: int, seed: int) -> int:
    words = ["rtl", "cosim", "--units", "--cluster", str(cluster), "--runs", str(runs), "--seed", str(seed)]
    return cli.main(words)


@pytest.mark.sample(6)
@pytest.mark.slow
def test_random_sums(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With sums alone in the lanes, and hardware that is not optimized, as compiling it takes longer than it runs."""
    monkeypatch.setattr(Project, "for_models", " -O0")
    cluster = with_few_rows(Cluster.load(CLUSTER))
    hardware = rtl_engine.in_rtl(cluster, compares=True, units=True, pairs=SUMS)
    assert len(list(compare(cluster, hardware, seed, 3, 10_000, SUMS))) == 3


@pytest.mark.long
@pytest.mark.parametrize("cluster", [CLUSTER, "torus:2x2x2", "torus:3x3", "mpi-fpga-fattree-8"])
def test_many_random_programs(cluster: str, seed: int) -> None:
    assert cosim(cluster, 20, seed) == 0


@pytest.mark.long
def test_hardware_that_is_another_is_told_apart(
    seed: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The slower one is the simulator, as the hardware is already built."""
    build = rtl_engine.unit_library

    def of_the_faster(project: Project, parameters: dict[str, int | str], waves: bool = False) -> Path:
        return build(project, {**parameters, "Latency": int(parameters["Latency"]) - 1}, waves)

    monkeypatch.setattr(rtl_engine, "unit_library", of_the_faster)
    monkeypatch.chdir(tmp_path)  # for the waves
    slower = tmp_path / "slower.toml"
    latency = Cluster.load(CLUSTER).fabric_config().collective.lane_latency + 1
    ring = '[topology]\nshape = "ring"\nsize = [2]\n'
    slower.write_text(f"{ring}[collective]\nlane_latency_cycles = {latency}\n")
    assert cosim(slower, 1, seed) == 1
    assert "; waves: slower.toml-seed-" in capsys.readouterr().err
