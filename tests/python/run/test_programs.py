"""Do unchanged programs get MPI's results, and does the report say what became of their calls?"""

from __future__ import annotations

from programs import Thalweg as Program


def test_messages(run_program: Program) -> None:
    run = run_program("messages.c", 8)
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr


def test_collectives(run_program: Program) -> None:
    run = run_program("collectives.c", 8)
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr
    assert run.report["fallback"]["user-defined operation"] == 8
    assert run.report["fallback"]["type not in the network: MPI_LONG_DOUBLE"] == 8
    assert run.report["fallback"]["not in the network: MPI_Alltoall"] == 8
    in_network = {"MPI_Barrier", "MPI_Bcast", "MPI_Reduce", "MPI_Allreduce", "MPI_Gather", "MPI_Allgather"}
    assert in_network <= run.report["offloaded"].keys()


def test_odd_numbers_of_ranks(run_program: Program) -> None:
    for ranks in (2, 3, 7):
        run = run_program("messages.c", ranks)
        assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr


def test_one_rank(run_program: Program) -> None:
    run = run_program("int main(int c, char** v) { begin(&c, &v); MPI_Barrier(MPI_COMM_SELF); return end(); }", 1)
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr
