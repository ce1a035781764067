# SPDX-License-Identifier: Apache-2.0
"""Is a program's output on the fabric the same as with MPI alone?"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest
from programs import Mpi, Run
from programs import Thalweg as Program

BIN = Path(sys.executable).parent
PROGRAMS = Path(__file__).parent / "programs"


def check(run_program: Program, folder: Path, source: str, ranks: int, *arguments: str) -> Run:
    mpi = Mpi(BIN / "mpicc", BIN / "mpiexec")
    program = mpi.build([PROGRAMS / source], folder / "plain")
    alone = mpi.run(ranks, [program, *arguments], timeout=60)
    assert alone.returncode == 0, alone.stdout + alone.stderr
    run = run_program(source, ranks, "--timeout", "30", arguments=arguments)
    assert run.exit_code == 0, run.stderr
    assert sorted(run.stdout.splitlines()) == sorted(alone.stdout.splitlines())
    return run


@pytest.mark.sample(2)
@pytest.mark.parametrize("ranks", [3, 4])
def test_communicators_of_a_part_of_the_ranks(run_program: Program, tmp_path: Path, ranks: int) -> None:
    check(run_program, tmp_path, "subsets.c", ranks)


@pytest.mark.sample(3)
@pytest.mark.parametrize(("ranks", "seed"), [(3, 12345), (3, 7), (4, 12345)])
def test_duplicates_of_two_parents_at_once(run_program: Program, ranks: int, seed: int) -> None:
    """The program checks its results."""
    run = run_program("duplicates.c", ranks, "--timeout", "30", arguments=(str(seed),))
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr


@pytest.mark.sample(2)
@pytest.mark.parametrize("ranks", [3, 4])
def test_a_graph_whose_edges_other_ranks_name(run_program: Program, ranks: int) -> None:
    """The program knows the neighbours. MPICH alone finds wrong ones, over the transport used by a run, in three of
    four runs."""
    run = run_program("graph.c", ranks, "--timeout", "30")
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr


@pytest.mark.sample(2)
@pytest.mark.parametrize("ranks", [3, 4])
def test_sessions_alone(run_program: Program, tmp_path: Path, ranks: int) -> None:
    """Twice in one process, which finalizes MPI in between."""
    run = check(run_program, tmp_path, "sessions.c", ranks)
    assert run.report["offloaded"]["MPI_Allreduce"] == 2 * ranks
    assert run.report["offloaded"]["MPI_Scan"] == 2 * (ranks - 1)


@pytest.mark.sample(2)
@pytest.mark.parametrize("ranks", [3, 4])
def test_partitions_that_nobody_blocks_for(run_program: Program, tmp_path: Path, ranks: int) -> None:
    check(run_program, tmp_path, "partitions.c", ranks)


@pytest.mark.sample(2)
@pytest.mark.parametrize("ranks", [3, 4])
def test_statuses_bottom_and_buffers(run_program: Program, tmp_path: Path, ranks: int) -> None:
    check(run_program, tmp_path, "small_print.c", ranks)


def test_an_error_of_mpis_own_collective_on_one_rank(run_program: Program, tmp_path: Path) -> None:
    """The other ranks, for which it succeeded, continue."""
    check(run_program, tmp_path, "sizes.c", 2, "alone")


@pytest.mark.parametrize(
    ("call", "status"),
    [
        pytest.param("MPI_Send(x, 1, MPI_INT, 9, 0, MPI_COMM_WORLD)", 6, id="rank"),
        pytest.param("MPI_Bcast(x, -1, MPI_INT, 0, MPI_COMM_WORLD)", 2, id="count"),
        pytest.param("MPI_Comm_free(NULL)", 12, id="null"),
    ],
)
def test_a_fatal_argument_has_the_status_of_its_class(run_program: Program, call: str, status: int) -> None:
    """The classes are in MPICH's mpi.h. With MPI alone it is often 9: the launcher may kill the rank before it exits."""
    text = f"int main(int c, char** v) {{ int x[1]; begin(&c, &v); if (rank == 1) {call}; return end(); }}"
    run = run_program(text, 3, "--timeout", "30")
    assert run.exit_code == status, run.stderr
    assert f"rank 1 was ended by MPI for a fatal error, with status {status}\n" in run.stderr


@pytest.mark.parametrize(
    ("error", "status"), [pytest.param("truncate", 14, id="truncated"), pytest.param("bsend", 1, id="no-buffer")]
)
def test_a_fatal_error_has_its_own_status(run_program: Program, error: str, status: int) -> None:
    """The class of the error, as with MPICH."""
    run = run_program("small_print.c", 3, "--timeout", "30", arguments=(error,))
    assert run.exit_code == status, run.stderr
    assert f"thalweg: rank 1 was ended by MPI for a fatal error, with status {status}" in run.stderr


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "looks", ["MPI_Test(&request, &found, &status)", "MPI_Iprobe(1, 1, MPI_COMM_WORLD, &found, &status)"]
)
def test_polls_up_to_a_deadline_end_and_miss_nothing(run_program: Program, looks: str) -> None:
    """A message sent after half a second is found as early as by a waiting rank; one that never arrives ends the
    polling at the deadline."""
    body = (
        r"""
        static double waited_from;
        static int poll_until(double deadline, MPI_Request request, MPI_Request never) {
          int found = 0, other = 0;
          MPI_Status status;
          while (!found && MPI_Wtime() - waited_from < deadline) {
            MPI_Test(&never, &other, MPI_STATUS_IGNORE);
            CHECK(!other);
            LOOKS;
          }
          return found;
        }
        int main(int c, char** v) {
          begin(&c, &v);
          int x = 0, y = 0;
          MPI_Request request = MPI_REQUEST_NULL, never;
          MPI_Irecv(&y, 1, MPI_INT, 1 - rank, 9, MPI_COMM_WORLD, &never);
          for (int polls = 0; polls < 2; polls++) {
            MPI_Barrier(MPI_COMM_WORLD);
            waited_from = MPI_Wtime();
            if (rank == 1) {
              while (MPI_Wtime() - waited_from < 0.5) continue;
              MPI_Send(&rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
            } else if (polls) {
              if (strstr("LOOKS", "Test")) MPI_Irecv(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
              CHECK(poll_until(1, request, never));
              printf("%.9f\n", MPI_Wtime() - waited_from);
              if (!strstr("LOOKS", "Test")) MPI_Recv(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else {
              MPI_Recv(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
              printf("%.9f\n", MPI_Wtime() - waited_from);
            }
          }
          waited_from = MPI_Wtime();
          if (rank == 0) {
            int found = 0;
            while (!found && MPI_Wtime() - waited_from < 1) MPI_Test(&never, &found, MPI_STATUS_IGNORE);
            printf("%.9f\n", MPI_Wtime() - waited_from);
          }
          MPI_Cancel(&never);
          MPI_Wait(&never, MPI_STATUS_IGNORE);
          return end();
        }"""
    ).replace("LOOKS", looks)
    run = run_program(body, 2, "--timeout", "20")
    assert run.exit_code == 0, run.stdout + run.stderr
    blocked, polled, ended = (float(word) for word in run.stdout.split()[:3])
    assert polled == pytest.approx(blocked, abs=1.5e-6)
    assert 1 <= ended < 1.001
    assert run_program(body, 2).stdout == run.stdout


def test_a_wait_for_the_time_ends_and_is_the_same_in_every_run(run_program: Program) -> None:
    """Ten milliseconds: 64 polls of one tick, which has 4 ns here; then each of a 32nd of the wait so far; finally each
    of 0.5 us."""
    body = r"""
        int main(int c, char** v) {
          begin(&c, &v);
          int looks = 0;
          double start = MPI_Wtime(), last = 0;
          for (; MPI_Wtime() - start < 0.01; looks++);
          MPI_Barrier(MPI_COMM_WORLD);
          start = MPI_Wtime();
          for (int i = 0; i < 50; i++) last = MPI_Wtime();
          CHECK(last - start < 0.3e-6);
          if (rank == 0) printf("%d looks\n", looks);
          return end();
        }"""
    run = run_program(body, 2)
    assert run.exit_code == 0, run.stdout + run.stderr
    looks = int(run.stdout.split()[0])
    free, grown = 64 * 4e-9, 32 * 0.5e-6
    growing = math.log(grown / free) / math.log1p(1 / 32)
    assert looks == pytest.approx(64 + growing + (0.01 - grown) / 0.5e-6, abs=16)
    assert run_program(body, 2).stdout == run.stdout
