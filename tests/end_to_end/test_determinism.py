# SPDX-License-Identifier: Apache-2.0
"""Do runs on a busy machine give the same bits, and without computing time the same virtual times?"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from programs import ROOT, Mpi, Thalweg

CLUSTER = "mpi-fpga-torus-2x2x2"


@pytest.fixture
def busy() -> Iterator[None]:
    """A process that never sleeps."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    yield
    process.kill()
    process.wait()


@pytest.fixture(scope="session")
def sums(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mpi.build([ROOT / "tests/end_to_end/sums.c"], tmp_path_factory.mktemp("sums") / "sums")


@pytest.mark.sample(3)
@pytest.mark.serial
def test_runs_under_load_are_the_same(thalweg: Thalweg, sums: Path, busy: None) -> None:
    runs = [thalweg(8, CLUSTER, [sums], "--compute", "none") for _ in range(3)]
    assert all(run.exit_code == 0 for run in runs), runs[0].stderr
    assert runs[0].stdout.count("rank") == 8
    for run in runs[1:]:
        assert run.stdout == runs[0].stdout, "bits and virtual times"
        assert run.report == runs[0].report, "times, calls and links"


SLOW_TO_END = """
from mpi4py import MPI

world = MPI.COMM_WORLD
even = world.group.Incl(range(0, world.size, 2))
if world.rank % 2 == 0:
    world.Create_group(even).Free()
print(world.allreduce(10**20 + world.rank))
"""


@pytest.mark.serial
def test_a_rank_that_waits_for_a_processor_does_not_block(thalweg: Thalweg, busy: None) -> None:
    """Communicators are created and freed, each by MPI itself, while other ranks start or end for many milliseconds."""
    runs = [thalweg(8, CLUSTER, [sys.executable, "-c", SLOW_TO_END], "--compute", "none") for _ in range(5)]
    assert all(run.exit_code == 0 for run in runs), runs[0].stderr
    assert len({run.report["virtual_time_us"] for run in runs}) == 1


@pytest.mark.serial
def test_measured_computing_changes_times_alone(thalweg: Thalweg, sums: Path, busy: None) -> None:
    none, measured = (thalweg(8, CLUSTER, [sums], "--compute", compute) for compute in ("none", "measured"))
    bits = [[line.split(" at ")[0] for line in run.stdout.splitlines()] for run in (none, measured)]
    assert bits[0] == bits[1]
    assert measured.report["virtual_time_us"] > none.report["virtual_time_us"]


@pytest.mark.serial
def test_the_benchmark_prints_the_same_times(thalweg: Thalweg, osu: Path, busy: None) -> None:
    words = [osu, "-m", "64:4K", "-i", "2", "-x", "1", "all"]
    outputs = {thalweg(8, CLUSTER, words, "--compute", "none").stdout for _ in range(2)}
    assert len(outputs) == 1
    text = outputs.pop()
    operations = text.count("\n# ")
    assert operations == 17 + 2
    assert text.count("yes") == 7 * (operations - 1), "a barrier has no sizes"
