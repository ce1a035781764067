# SPDX-License-Identifier: Apache-2.0
"""Is what a program prints on the fabric what it prints with MPI alone?"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from programs import Mpi, Run
from programs import Thalweg as Program

BIN = Path(sys.executable).parent
PROGRAMS = Path(__file__).parent / "programs"


def check(run_program: Program, folder: Path, source: str, ranks: int, *arguments: str, status: int = 0) -> Run:
    mpi = Mpi(BIN / "mpicc", BIN / "mpiexec")
    program = mpi.build([PROGRAMS / source], folder / "plain")
    alone = mpi.run(ranks, [program, *arguments], timeout=60)
    assert alone.returncode == status, alone.stdout + alone.stderr
    run = run_program(source, ranks, "--timeout", "30", arguments=arguments)
    assert run.exit_code == status, run.stderr
    if status == 0:
        assert sorted(run.stdout.splitlines()) == sorted(alone.stdout.splitlines())
    return run


@pytest.mark.parametrize("ranks", [3, 4])
def test_communicators_of_a_part_of_the_ranks(run_program: Program, tmp_path: Path, ranks: int) -> None:
    check(run_program, tmp_path, "subsets.c", ranks)


@pytest.mark.parametrize(("ranks", "seed"), [(3, 12345), (3, 7), (4, 12345)])
def test_duplicates_of_two_parents_at_once(run_program: Program, tmp_path: Path, ranks: int, seed: int) -> None:
    check(run_program, tmp_path, "duplicates.c", ranks, str(seed))


@pytest.mark.parametrize("ranks", [3, 4])
def test_a_graph_whose_edges_other_ranks_name(run_program: Program, ranks: int) -> None:
    """The program knows the neighbours. MPICH alone finds wrong ones, over the transport that a run uses, in three of four runs."""
    run = run_program("graph.c", ranks, "--timeout", "30")
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr
