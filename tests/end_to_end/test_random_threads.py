# SPDX-License-Identifier: Apache-2.0
"""Do the threads of random programs get the right data on the fabric, at the same virtual times in every run?

Program i of a run is that of the seed plus i; wrong data, a hang or another time names it.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from programs import ROOT, Mpi, Thalweg


@pytest.fixture(scope="session")
def program(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("random_threads") / "random_threads"
    source = ROOT / "tests/end_to_end/random_threads.c"
    subprocess.run([mpi.cc, "-O2", source, "-o", built, "-lpthread"], check=True)
    return built


def times(thalweg: Thalweg, program: Path, ranks: int, seed: int, count: int) -> list[str]:
    """The virtual time at which each thread of each program ends."""
    arguments = [program, str(seed), str(count), "times"]
    run = thalweg(ranks, "torus:2x2x2", arguments, "--compute", "none", "--timeout", "120", timeout=3000)
    assert run.exit_code == 0, run.stdout + run.stderr
    *lines, last = run.stdout.splitlines()
    assert last == f"{count} programs are right", run.stdout
    assert len(lines) >= 2 * ranks * count
    return lines


def check(thalweg: Thalweg, program: Path, ranks: int, seed: int, count: int) -> None:
    print(f"seeds {seed} to {seed + count - 1} on {ranks} ranks")
    first, second = (times(thalweg, program, ranks, seed, count) for _ in range(2))
    assert first == second


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3])
def test_a_few_programs(thalweg: Thalweg, program: Path, ranks: int, seed: int) -> None:
    check(thalweg, program, ranks, seed, 10)


@pytest.mark.long
@pytest.mark.parametrize(("ranks", "count"), [(2, 300), (3, 250), (4, 250), (6, 100), (8, 100)])
def test_a_thousand_programs(thalweg: Thalweg, program: Path, ranks: int, count: int, seed: int) -> None:
    check(thalweg, program, ranks, seed + 1000 * ranks, count)


def check_measured(thalweg: Thalweg, program: Path, ranks: int, seed: int, count: int) -> None:
    """Some threads spin while others poll MPI. A spinning thread whose virtual time is later than the others' is halted."""
    print(f"seeds {seed} to {seed + count - 1} on {ranks} ranks")
    run = thalweg(ranks, "torus:2x2x2", [program, str(seed), str(count)], "--timeout", "120", timeout=3000)
    assert (run.exit_code, run.stdout) == (0, f"{count} programs are right\n"), run.stdout + run.stderr


@pytest.mark.sample(2)
@pytest.mark.slow
def test_a_few_programs_with_measured_time(thalweg: Thalweg, program: Path, seed: int) -> None:
    check_measured(thalweg, program, 3, seed, 3)


@pytest.mark.long
@pytest.mark.parametrize("ranks", [2, 4])
def test_programs_with_measured_time(thalweg: Thalweg, program: Path, ranks: int, seed: int) -> None:
    check_measured(thalweg, program, ranks, seed + 1000 * ranks, 20)
