# SPDX-License-Identifier: Apache-2.0
"""MPI's functions outside the fabric, windows and spawned processes: are they correct, do they end, and what do they
cost?"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import pytest
from programs import Mpi
from programs import Thalweg as Program

BIN = Path(sys.executable).parent
PROGRAMS = Path(__file__).parent / "programs"


@pytest.mark.parametrize("compute", ["none", "measured"])
def test_one_sided_calls_beside_virtual_time(run_program: Program, compute: str) -> None:
    run = run_program("windows.c", 3, "--compute", compute, "--timeout", "60")
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr


def test_a_window_s_test_sees_what_was_completed_before_a_barrier(run_program: Program) -> None:
    run = run_program("post.c", 3, "--timeout", "60")
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr


def test_a_program_that_only_writes_files_gets_on(run_program: Program, tmp_path: Path) -> None:
    body = """
#include <unistd.h>
int main(int argc, char** argv) {
  MPI_File file;
  begin(&argc, &argv);
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  for (int i = 0; i < 8; ++i, usleep(400000)) MPI_File_write_at(file, 4 * rank, &i, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  return end();
}
"""
    run = run_program(body, 2, "--timeout", "2", arguments=(f"{tmp_path}/written",))
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr


def test_a_semaphore(run_program: Program) -> None:
    run = run_program("semaphore.c", 3, "--timeout", "60", arguments=("60",))
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr


@pytest.mark.long
@pytest.mark.parametrize("compute", ["none", "measured"])
def test_a_semaphore_many_times(run_program: Program, compute: str) -> None:
    for _ in range(8):
        run = run_program("semaphore.c", 3, "--compute", compute, "--timeout", "60", arguments=("30",))
        assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr


def test_a_rank_that_spins_holds_up_nobody_where_its_time_passes(run_program: Program) -> None:
    run = run_program("spin.c", 4, "--ranks-per-node", "2", "--compute", "measured", "--timeout", "60")
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr


def test_a_rank_that_spins_is_named_where_its_time_does_not_pass(run_program: Program) -> None:
    run = run_program("spin.c", 4, "--ranks-per-node", "2", "--timeout", "6")
    assert run.exit_code == 124, run.stdout + run.stderr
    assert "rank 0: in MPI_Sendrecv_replace, waits for a message from rank 2" in run.stderr
    for spinning in ("rank 1", "rank 3", "ranks 1, 3"):
        if f"{spinning}: computing or spinning: " in run.stderr:
            return
    raise AssertionError(run.stderr)


def test_a_rank_that_blocks_outside_mpi_holds_up_nobody_for_ever(run_program: Program) -> None:
    """Rank 1 reads from a pipe the byte that rank 0 writes after the barrier; rank 1, which enters the barrier last,
    leaves it first."""
    body = """
        #include <fcntl.h>
        #include <unistd.h>
        #include <sys/stat.h>
        int main(int c, char** v) {
          char byte = 1;
          begin(&c, &v);
          if (rank == 0) mkfifo(v[1], 0600);
          MPI_Barrier(MPI_COMM_WORLD);
          for (int i = 0; i < 100; i++) MPI_Sendrecv(&i, 1, MPI_INT, rank ^ 1, 0, &c, 1, MPI_INT, rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          if (rank == 1) CHECK(read(open(v[1], O_RDONLY), &byte, 1) == 1);
          if (rank == 0) {
            for (int i = 0; i < 100; i++) MPI_Iprobe(1, 1, MPI_COMM_WORLD, &c, MPI_STATUS_IGNORE);
            CHECK(write(open(v[1], O_WRONLY), &byte, 1) == 1);
          }
          return end();
        }"""
    with tempfile.TemporaryDirectory() as folder:
        run = run_program(body, 2, "--timeout", "20", arguments=(f"{folder}/pipe",))
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr


def test_a_callback_may_call_mpi(run_program: Program) -> None:
    """In a call that does not need the fabric: afterwards no blocked rank may count as running, as all others would
    wait for it."""
    run = run_program(
        """
        #include <time.h>
        static double now(void) {
          struct timespec t;
          clock_gettime(CLOCK_MONOTONIC, &t);
          return t.tv_sec + 1e-9 * t.tv_nsec;
        }
        static int deleted(MPI_Comm comm, int key, void* value, void* state) {
          return MPI_Barrier(MPI_COMM_WORLD);
        }
        int main(int c, char** v) {
          int key;
          MPI_Comm copy;
          begin(&c, &v);
          MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &key, NULL);
          MPI_Comm_dup(MPI_COMM_WORLD, &copy);
          MPI_Comm_set_attr(copy, key, NULL);
          MPI_Comm_free(&copy);
          double start = now();
          for (int i = 0; i < 1000; i++) MPI_Barrier(MPI_COMM_WORLD);
          CHECK(now() - start < 2.5);
          return end();
        }
        """,
        2,
    )
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr


def test_spawned_processes_run_by_mpi_alone(run_program: Program) -> None:
    run = run_program("spawn.c", 2)
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr
    assert "2 calls of MPI_Comm_spawn: the spawned processes use plain MPI" in run.stderr
    assert run.report["offloaded"]["MPI_Allreduce"] == 2, "that on MPI_COMM_WORLD alone"


def test_spawned_processes_that_stay_are_ended(run_program: Program) -> None:
    began = time.monotonic()
    run = run_program("spawn.c", 2, "--timeout", "3", arguments=("stay",))
    assert run.exit_code == 124, run.stdout + run.stderr
    assert "3 s" in run.stderr.splitlines()[0], run.stderr
    assert time.monotonic() - began < 60


@pytest.mark.long
@pytest.mark.serial
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_costs(run_program: Program, tmp_path: Path, ranks: int) -> None:
    """Processor time relative to MPI alone: a duplicate at most three times, a flush at most five."""
    plain = tmp_path / "plain"
    plain.mkdir()
    mpi = Mpi(BIN / "mpicc", BIN / "mpiexec")
    program = mpi.build([PROGRAMS / "costs.c"], plain / "costs")
    own = [float(word) for word in mpi.run(ranks, [program]).stdout.split()]
    run = run_program("costs.c", ranks)
    seen = [float(word) for word in run.stdout.split()]
    print(f"{ranks} ranks: us of a duplicate and of a flush {seen}, by MPI alone {own}")
    assert seen[0] < 3 * own[0]
    assert seen[1] < 5 * own[1]


@pytest.mark.long
@pytest.mark.serial
def test_locks_cost_what_they_cost_by_mpi_alone(run_program: Program, tmp_path: Path) -> None:
    """Waits for each other's locks take no virtual time of the fabric, and MPI lets other ranks run meanwhile."""
    plain = tmp_path / "plain"
    plain.mkdir()
    mpi = Mpi(BIN / "mpicc", BIN / "mpiexec")
    program = mpi.build([PROGRAMS / "locks.c"], plain / "locks")
    own = float(mpi.run(3, [program]).stdout.split()[1])
    multiple, seen = run_program("locks.c", 3).stdout.split()
    print(f"us of an accumulate under a lock {seen}, by MPI alone {own}")
    assert multiple == "1"
    assert float(seen) < 3 * own
