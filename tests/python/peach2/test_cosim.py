# SPDX-License-Identifier: Apache-2.0
"""Are whole clusters of the hardware's hubs equal to the simulator's? And would a difference be detected?"""

from __future__ import annotations

from dataclasses import replace

import pytest
from thalweg import cli
from thalweg.errors import CheckFailed
from thalweg.systems.peach2 import cosim, programs, rtl_engine
from thalweg.systems.peach2.cluster import Cluster

CLUSTER = "peach2-ring-4"


@pytest.mark.sample(3)
@pytest.mark.slow
def test_random_programs(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["rtl", "cosim", "--cluster", CLUSTER, "--runs", "3", "--seed", str(seed)]
    assert cli.main(words) == 0, capsys.readouterr().err


SMALLEST = {
    **{"latency": 1, "reads": 2, "bus_reads": 1, "ram_bits": 9, "starts": 1, "windows": 6, "sums": 2, "records": 2},
    **{"contexts": 2, "packets": 1, "units": 16, "gen": 1, "lanes": 1, "south_lanes": 1},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "node", "runs"),
    [
        (CLUSTER, SMALLEST, 5),
        (CLUSTER, {"ram_bits": 9}, 5),
        (CLUSTER, {"sums": 2, "records": 2}, 5),
        (CLUSTER, {"sums": 64, "contexts": 16}, 5),
        ("peach2", {"windows": 6}, 1),
        ("peach2", {"windows": 9}, 1),
    ],
    ids=str,
)
def test_random_programs_fit_every_hub(name: str, node: dict[str, int], runs: int, seed: int) -> None:
    cluster = programs.with_all_pairs(Cluster.load(name).with_node(**node))
    for run in range(runs):
        programs.run(cluster, "sim", seed + run)


@pytest.mark.long
def test_many_random_programs() -> None:
    assert cli.main(["rtl", "cosim", "--cluster", CLUSTER, "--runs", "200"]) == 0


@pytest.mark.sample(6)
@pytest.mark.slow
def test_hardware_that_is_another_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slower one is the simulator, as the hardware is already built."""
    cluster = Cluster.load(CLUSTER)
    slower = replace(cluster, nodes={"hub": cluster.node.model_copy(update={"latency": cluster.node.latency + 1})})
    library = rtl_engine.library(cluster)
    monkeypatch.setattr(rtl_engine, "library", lambda _: library)
    with pytest.raises(CheckFailed, match=r"seed \d+: cycle \d+, hub \d, .*: simulator and hardware differ"):
        for seed in range(20):
            cosim.compare(slower, seed)
