# SPDX-License-Identifier: Apache-2.0
"""Are whole clusters of the hardware's ranks equal to the simulator's? And would a difference be detected?"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from thalweg import cli
from thalweg.errors import CheckFailed
from thalweg.rtl.project import Project
from thalweg.systems.smi import cosim, metadata, rtl_engine
from thalweg.systems.smi.cluster import Cluster

CLUSTER = "smi-noctua"


@pytest.fixture(autouse=True)
def unoptimized(monkeypatch: pytest.MonkeyPatch) -> None:
    """For short runs: ranks compile in half the time."""
    monkeypatch.setattr(Project, "for_models", " -O0")


@pytest.mark.sample(3)
@pytest.mark.slow
def test_random_programs(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["rtl", "cosim", "--cluster", CLUSTER, "--runs", "6", "--seed", str(seed)]
    assert cli.main(words) == 0, capsys.readouterr().err


@pytest.mark.long
def test_many_random_programs() -> None:
    assert cli.main(["rtl", "cosim", "--cluster", CLUSTER, "--runs", "200"]) == 0


@pytest.mark.long
def test_hardware_that_is_another_is_told_apart(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulator reads more often; the hardware is that of the random programs, which is already built."""
    build, sort_of = rtl_engine.library, cosim.random_hardware

    def reads_more(draw: random.Random, cluster: Cluster) -> tuple[Cluster, list[metadata.Operation]]:
        sort, operations = sort_of(draw, cluster)
        return sort.with_node(reads=sort.node.reads + 1), operations

    monkeypatch.setattr(cosim, "random_hardware", reads_more)
    monkeypatch.setattr(
        rtl_engine, "library", lambda of, node: build(of, node.model_copy(update={"reads": node.reads - 1}))
    )
    with pytest.raises(CheckFailed, match=r"seed \d+: cycle \d+, rank \d, .*: simulator and hardware differ"):
        for each in range(seed // cosim.SAME_HARDWARE * cosim.SAME_HARDWARE, seed + cosim.SAME_HARDWARE):
            cosim.compare(Cluster.load(CLUSTER), each)


@pytest.mark.sample(3)
@pytest.mark.slow
def test_a_bench_on_the_hardware(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ["bench", "broadcast", "--cluster", CLUSTER, "--ranks", "3", "--sizes", "256"]
    printed = []
    for engine in ("sim", "rtl"):
        assert cli.main([*arguments, "--engine", engine]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


@pytest.mark.long
def test_kernels_on_the_hardware(capsys: pytest.CaptureFixture[str]) -> None:
    host = Path(__file__).parents[3] / "apps/smi/listings/point_to_point.toml"
    assert cli.main(["smi", "run", "-n", "2", "--cluster", CLUSTER, "--host", str(host), "--engine", "rtl"]) == 0
    assert "checks passed" in capsys.readouterr().out
