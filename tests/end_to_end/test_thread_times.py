# SPDX-License-Identifier: Apache-2.0
"""Does the measured processor time of a rank's threads count once, and does it not grow when threads spin?"""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import ROOT, Mpi, Thalweg

ROUNDS = 20
WORK_S = 0.01
"""Processor time that each thread computes for in a round of "join"."""


@pytest.fixture(scope="session")
def program(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = ROOT / "tests/end_to_end/thread_times.c"
    return mpi.build([source], tmp_path_factory.mktemp("thread_times") / "thread_times")


def quarters(thalweg: Thalweg, program: Path, how: str, rounds: int) -> list[float]:
    """Times in seconds of the first, second and last quarter of the rounds, on 4 ranks of 4 threads."""
    run = thalweg(4, "torus:2x2", [program, how, str(rounds)], "--timeout", "60")
    verdict, *times = run.stdout.split() or [""]
    assert (run.exit_code, verdict) == (0, "right"), run.stdout + run.stderr
    return [float(time) for time in times]


def test_joined_threads_compute_at_the_same_time(thalweg: Thalweg, program: Path) -> None:
    """The first thread's clock must not take the processor time of its rank's other threads, which call MPI themselves."""
    for time in quarters(thalweg, program, "join", 4):
        assert WORK_S <= time < 3 * WORK_S


@pytest.mark.sample(1)
@pytest.mark.parametrize("how", ["lock", "trylock", "yield"])
def test_rounds_of_spinning_threads_take_equal_times(thalweg: Thalweg, program: Path, how: str) -> None:
    """There are more threads than cores, so the threads with the latest virtual time must let the others run."""
    first, second, last = quarters(thalweg, program, how, ROUNDS)
    assert last < 5 * max(first, second)
