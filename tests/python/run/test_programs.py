# SPDX-License-Identifier: Apache-2.0
"""Do unchanged programs get MPI's results, and does the report list how their calls were executed?"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from programs import Thalweg as Program
from programs import thalweg_run


def test_messages(run_program: Program) -> None:
    run = run_program("messages.c", 8)
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr


_EXCHANGE = """#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
enum { LONG = 1 << 20 };
int main(int argc, char** argv) {
  int rank;
  char *out = calloc(LONG, 1), *in = calloc(LONG, 1);
  MPI_Request requests[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int nobody = 0; nobody < 2; nobody++) {
    const int to = !nobody || rank == 0 ? 1 - rank : MPI_PROC_NULL, from = !nobody || rank == 1 ? 1 - rank : MPI_PROC_NULL;
    const int sent = rank == 0 ? LONG : 1, received = rank == 0 ? 1 : LONG;
    for (int form = 0; form < 2; form++) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double start = MPI_Wtime();
      if (form) {
        MPI_Isendrecv(out, sent, MPI_BYTE, to, 1, in, received, MPI_BYTE, from, 1, MPI_COMM_WORLD, requests);
        MPI_Wait(requests, MPI_STATUS_IGNORE);
      } else {
        MPI_Irecv(in, received, MPI_BYTE, from, 1, MPI_COMM_WORLD, requests);
        MPI_Isend(out, sent, MPI_BYTE, to, 1, MPI_COMM_WORLD, requests + 1);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      }
      printf("%d %d %d %.3f\\n", form, rank, nobody, 1e6 * (MPI_Wtime() - start));
    }
  }
  MPI_Finalize();
}
"""


def test_an_exchange_takes_as_long_as_its_longer_half(run_program: Program) -> None:
    run = run_program(_EXCHANGE, 2)
    assert run.exit_code == 0, run.stderr
    lines = [line.split() for line in sorted(run.stdout.splitlines())]
    two, one = (dict[tuple[str, str], float](((w[1], w[2]), float(w[3])) for w in lines if w[0] == f) for f in "01")
    assert len(two) == 4 and all(us > 100 for us in two.values())
    assert one == pytest.approx(two, rel=1e-3)  # ranks leave the barriers some ticks apart


def test_collectives(run_program: Program) -> None:
    run = run_program("collectives.c", 8)
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr
    assert run.report["fallback"]["user-defined operation"] == 8
    assert run.report["fallback"]["type not in the network: MPI_LONG_DOUBLE"] == 8
    in_network = {
        "MPI_Barrier",
        "MPI_Bcast",
        "MPI_Reduce",
        "MPI_Allreduce",
        "MPI_Gather",
        "MPI_Allgather",
        "MPI_Scatter",
    }
    in_network |= {"MPI_Alltoall", "MPI_Ialltoall", "MPI_Reduce_scatter_block", "MPI_Scatterv", "MPI_Gatherv"}
    assert in_network <= run.report["offloaded"].keys()


@pytest.mark.sample(3)
@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_blocks_of_different_sizes(run_program: Program, ranks: int) -> None:
    run = run_program("vectors.c", ranks, arguments=(str(ranks),))
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr
    assert run.report["fallback"] == {}


def test_persistent_collectives(run_program: Program) -> None:
    """Four ranks in two halves; forty copies of a communicator, each of which is freed after its last request."""
    run = run_program("persistent.c", 4)
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr
    assert run.report["fallback"] == {}
    starts = run.report["calls"]["MPI_Start"]
    assert starts == 42 * 3 * 9 * 2 + 4, "half of the ranks start one by one, and one is freed while active"
    assert run.report["offloaded"]["MPI_Alltoall_init"] == 42 * 3 * 4


def test_persistent_collectives_without_a_row(run_program: Program, tmp_path: Path) -> None:
    cluster = tmp_path / "narrow.toml"
    cluster.write_text('[topology]\nshape = "torus"\nsize = [2, 2]\n[collective]\ncontexts = 1\n')
    run = run_program("persistent.c", 4, cluster=str(cluster))
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr
    assert run.report["fallback"]["no row free in the network's tables"] > 0


def test_partitioned_collectives(run_program: Program) -> None:
    """The program checks that eight partitions are faster than one if computation and sums overlap."""
    run = run_program("partitioned.c", 4)
    assert (run.exit_code, run.stdout.splitlines()[-1]) == (0, "all right"), run.stdout + run.stderr
    assert run.report["fallback"] == {}
    assert run.report["offloaded"]["MPI_Ibcast"] == 3 * 6 * 4


def test_partitioned_collectives_of_python(tmp_path: Path) -> None:
    program = Path(__file__).parent / "programs/partitioned.py"
    run = thalweg_run(tmp_path, 4, "torus:2x2", [sys.executable, program], "--compute", "none")
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr
    assert run.report["offloaded"]["MPI_Iallreduce"] == 3 * 4 * 4
    assert run.report["offloaded"]["MPI_Ibcast"] == 4 * 4


def test_the_status_of_several_requests(run_program: Program) -> None:
    run = run_program("status.c", 4)
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr
    assert run.report["fallback"] == {}


@pytest.mark.sample(2)
@pytest.mark.parametrize("options", [(), ("--ranks-per-node", "2")])
def test_what_an_int_does_not_hold(run_program: Program, options: tuple[str, ...]) -> None:
    run = run_program("big.c", 4, *options)
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr
    assert run.report["fallback"] == {}


@pytest.mark.long
def test_more_than_two_gigabytes(run_program: Program) -> None:
    """In one reduction, one broadcast and one message: 9 GB of memory."""
    run = run_program("big.c", 2, arguments=(str(2**31 + 5),), timeout=1200)
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr
    (row,) = (row for row in run.report["collectives"] if row["function"] == "MPI_Reduce")
    assert (row["in"], row["bytes"]) == ("network", 2**31 + 5)


@pytest.mark.sample(2)
def test_odd_numbers_of_ranks(run_program: Program) -> None:
    for ranks in (2, 3, 7):
        run = run_program("messages.c", ranks)
        assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr


def test_one_rank(run_program: Program) -> None:
    run = run_program("int main(int c, char** v) { begin(&c, &v); MPI_Barrier(MPI_COMM_SELF); return end(); }", 1)
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr


@pytest.mark.sample(2)
def test_ranks_that_come_back_from_mpi_are_no_deadlock(run_program: Program) -> None:
    """The last rank to return finds the others waiting: between two polls of the server, often enough in 400 turns."""
    run = run_program(
        """
        int main(int c, char** v) {
          begin(&c, &v);
          int own, sum, got;
          MPI_Win window;
          MPI_Win_create(&own, sizeof own, sizeof own, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
          for (int i = 0; i < 400; i++) {
            MPI_Win_fence(0, window);
            own = rank + i;
            MPI_Win_fence(0, window);
            MPI_Get(&got, 1, MPI_INT, ranks - 1, 0, 1, MPI_INT, window);
            MPI_Win_fence(0, window);
            CHECK(got == ranks - 1 + i);
            MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
          }
          MPI_Win_free(&window);
          return end();
        }
        """
    )
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr


@pytest.mark.long
def test_what_the_rows_of_many_ranks_have_no_room_for_is_left_to_software(run_program: Program) -> None:
    """Rows that follow the links of 169 nodes have no edges for a scan (docs/collectives.md)."""
    run = run_program(
        """
        int main(int c, char** v) {
          int sum;
          begin(&c, &v);
          MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
          CHECK(sum == rank * (rank + 1) / 2);
          return end();
        }
        """,
        169,
        cluster="torus:13x13",
    )
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr
    assert run.report["fallback"] == {"not in the network: MPI_Scan": 169}
