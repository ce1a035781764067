# SPDX-License-Identifier: Apache-2.0
"""Does a program whose threads, or whose process beside threads, end or sleep in an unusual way end with the right result, or
with a line that says why?"""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import ROOT, Mpi, Thalweg


@pytest.fixture(scope="session")
def program(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mpi.build([ROOT / "tests/end_to_end/thread_ends.c"], tmp_path_factory.mktemp("thread_ends") / "thread_ends")


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "how",
    [
        "pthread_exit",
        "detached threads",
        "threads of threads",
        "threads in turn",
        "one communicator",
        "MPI_Finalize by another thread",
        "MPI_Finalize beside a waiting thread",
        "MPI_Finalize beside a running thread",
    ],
)
def test_the_program_ends_right(thalweg: Thalweg, program: Path, how: str) -> None:
    run = thalweg(3, "torus:2x2x2", [program, how], "--compute", "none", "--timeout", "60")
    assert (run.exit_code, run.stdout) == (0, "right\n"), run.stdout + run.stderr


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("how", "status", "line"),
    [
        ("exit in a thread", 124, "rank 1 exited with status 5 before MPI_Finalize"),
        ("_exit in a thread", 124, "rank 1 called _exit(5) before MPI_Finalize"),
        ("MPI_Abort in a thread", 6, "rank 1 called MPI_Abort with code 6"),
        ("crash of a thread", 124, "rank 1 was killed by signal 6 (Aborted) before MPI_Finalize"),
        ("exit beside a thread", 124, "rank 1 exited with status 3 before MPI_Finalize"),
        ("end of the first thread", 124, "exited with status 0 before MPI_Finalize"),
        ("different collectives", 124, "the ranks disagree on collective"),
        ("too many threads", 124, "a rank may have 256"),
    ],
)
def test_a_line_says_why_the_program_ended(thalweg: Thalweg, program: Path, how: str, status: int, line: str) -> None:
    run = thalweg(3, "torus:2x2x2", [program, how], "--compute", "none", "--timeout", "60")
    assert run.exit_code == status, run.stdout + run.stderr
    assert line in run.stderr


@pytest.fixture(scope="session")
def wakers(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = ROOT / "tests/end_to_end/thread_wakers.c"
    return mpi.build([source], tmp_path_factory.mktemp("thread_wakers") / "thread_wakers")


@pytest.mark.sample(3)
@pytest.mark.parametrize("who", ["process", "signal", "timer", "thread", "pipe", "poll"])
def test_a_thread_is_woken_from_outside(thalweg: Thalweg, wakers: Path, who: str) -> None:
    run = thalweg(2, "torus:2x2x2", [wakers, who], "--compute", "none", "--timeout", "60", timeout=20)
    assert (run.exit_code, run.stdout) == (0, "right\n"), run.stdout + run.stderr


def test_threads_that_nobody_wakes_are_a_deadlock(thalweg: Thalweg, wakers: Path) -> None:
    run = thalweg(2, "torus:2x2x2", [wakers, "nobody"], "--compute", "none", "--timeout", "60")
    assert run.exit_code == 124, run.stdout + run.stderr
    assert "the program is deadlocked" in run.stderr
    for rank, sender in ((0, 1), (1, 0)):
        assert f"rank {rank}, thread 0: outside MPI, waits for the end of thread 1" in run.stderr
        assert f"rank {rank}, thread 1: outside MPI, waits for another thread of its rank" in run.stderr
        assert f"rank {rank}, thread 2: in MPI_Recv, waits for a message from rank {sender}" in run.stderr
