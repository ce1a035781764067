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


def test_ranks_that_come_back_from_mpi_are_no_deadlock(run_program: Program) -> None:
    """The last one to come back finds the others waiting: between the two looks of the server, often enough in 1000 turns."""
    run = run_program(
        """
        int main(int c, char** v) {
          begin(&c, &v);
          int own, sum, all[64];
          MPI_Request gather;
          MPI_Allgather_init(&own, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &gather);
          for (int i = 0; i < 1000; i++) {
            own = rank + i;
            MPI_Start(&gather);
            MPI_Wait(&gather, MPI_STATUS_IGNORE);
            CHECK(all[ranks - 1] == ranks - 1 + i);
            MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
          }
          MPI_Request_free(&gather);
          return end();
        }
        """
    )
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr
