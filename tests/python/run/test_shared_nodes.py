# SPDX-License-Identifier: Apache-2.0
"""Do several ranks on a node get MPI's results, one part of each node in the network, and the times of their host's
memory?"""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import Thalweg as Program

PER_NODE = "--ranks-per-node"


@pytest.mark.sample(4)
@pytest.mark.parametrize("program", ["collectives.c", "messages.c", "nodes.c"])
@pytest.mark.parametrize("per_node", [2, 3, 4, 8])
def test_results(run_program: Program, program: str, per_node: int) -> None:
    run = run_program(program, 8, PER_NODE, str(per_node))
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr
    assert run.report["nodes"] == [rank // per_node for rank in range(8)]
    assert bool(run.report["offloaded"]) == (per_node < 8)
    rows = [row for row in run.report["collectives"] if row["offloaded"]]
    assert {row["in"] for row in rows if row["nodes"] == 1} <= {"memory"}
    assert {row["in"] for row in rows if row["nodes"] > 1} <= {"network"}
    if program == "nodes.c":
        # If a node's ranks are not consecutive, scans are left to software, and nothing else is.
        reasons = {f"not with several ranks on a node: MPI_{name}" for name in ("Scan", "Exscan", "Iscan")}
        assert run.report["fallback"].keys() == (reasons if per_node < 8 else set())


@pytest.mark.sample(4)
@pytest.mark.parametrize(("ranks", "per_node"), [(8, 2), (8, 4), (7, 3), (5, 4)])
def test_blocks_of_different_sizes(run_program: Program, ranks: int, per_node: int) -> None:
    run = run_program("vectors.c", ranks, PER_NODE, str(per_node), arguments=(str(10 * ranks + per_node),))
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr
    assert run.report["fallback"] == {}


def test_persistent_collectives(run_program: Program) -> None:
    """Each takes a row of both nodes, and two more for its rings while some are free: of 32, two concurrent halves may
    find none."""
    run = run_program("persistent.c", 4, PER_NODE, "2")
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr
    assert run.report["fallback"].keys() <= {"no row free in the network's tables"}
    assert sum(run.report["fallback"].values()) < 0.05 * sum(run.report["offloaded"].values())


def test_no_row_is_needed_on_one_node_and_one_on_each_of_several(run_program: Program, tmp_path: Path) -> None:
    cluster = tmp_path / "narrow.toml"
    cluster.write_text('[topology]\nshape = "ring"\nsize = [4]\n[collective]\ncontexts = 1\n')
    body = """
        int main(int c, char** v) {
          MPI_Comm node, odd;
          int sum;
          begin(&c, &v);
          MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &node);
          MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &odd);
          MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, node);
          CHECK(sum == rank / 2 * 4 + 1);
          MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, odd);
          CHECK(sum == 12 + rank % 2 * 4);
          return end();
        }
    """
    run = run_program(body, 8, PER_NODE, "2", cluster=str(cluster))
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr
    assert run.report["in_memory"] == {"MPI_Allreduce": 8}
    assert run.report["fallback"] == {"no row free in the network's tables": 8}


@pytest.mark.parametrize("per_node", [1, 2])
def test_ranks_share_memory_where_they_share_a_node(run_program: Program, per_node: int) -> None:
    body = f"""
        int main(int c, char** v) {{
          int size, sum, *own, *other, unit;
          MPI_Comm node, none;
          MPI_Aint bytes;
          MPI_Win window;
          begin(&c, &v);
          MPI_Comm_split_type(MPI_COMM_WORLD, rank == 1 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &none);
          CHECK(rank != 1 || none == MPI_COMM_NULL);
          if (rank != 1) MPI_Comm_size(none, &size), MPI_Comm_free(&none);
          CHECK(rank == 1 || size == (rank == 0 ? 1 : {per_node}));
          MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &node);
          MPI_Comm_size(node, &size);
          CHECK(size == {per_node});
          MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, node);
          CHECK(sum == ({per_node} == 1 ? rank : rank / 2 * 4 + 1));
          MPI_Win_allocate_shared(sizeof *own, sizeof *own, MPI_INFO_NULL, node, &own, &window);
          *own = rank;
          MPI_Win_fence(0, window);
          MPI_Win_shared_query(window, 0, &bytes, &unit, &other); /* the highest rank of the node */
          CHECK(*other == rank / {per_node} * {per_node} + {per_node} - 1);
          MPI_Win_free(&window);
          return end();
        }}
    """
    run = run_program(body, 4, PER_NODE, str(per_node))
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr


def test_ranks_are_placed_together(run_program: Program) -> None:
    run = run_program("nodes.c", 4, PER_NODE, "2", "--placement", "3,1")
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr
    assert run.report["nodes"] == [3, 3, 1, 1]
    assert {1, 3} <= {link["node"] for link in run.report["links"]}


@pytest.fixture
def slow_memory(tmp_path: Path) -> str:
    """Between two ranks of a node: 1 us, and 1 ns per byte. Over links: at least 2 us for a round trip."""
    cluster = tmp_path / "slow.toml"
    cluster.write_text(
        '[topology]\nshape = "ring"\nsize = [4]\n[host]\nmemory_overhead_ns = 1000\nmemory_rate_gbps = 8\npcie_latency_ns = 1000\n'
    )
    return str(cluster)


def test_times_in_the_memory_of_a_node(run_program: Program, slow_memory: str) -> None:
    """The parent receives from one rank after the other; all receive the result at once. Times by hand."""
    body = """
        static char a[8000], b[24000];
        static double begun;
        static void took(double us) {
          const double now = MPI_Wtime();
          if (rank == 2) CHECK(now - begun > us * 1e-6 - 2e-8 && now - begun < us * 1e-6 + 2e-8);
          MPI_Barrier(MPI_COMM_WORLD);
          MPI_Barrier(MPI_COMM_WORLD);
          begun = MPI_Wtime();
        }
        int main(int c, char** v) {
          begin(&c, &v);
          took(0);
          MPI_Barrier(MPI_COMM_WORLD);                                    took(2 * 1 + 1);
          MPI_Allreduce(a, b, 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); took(2 * 9 + 9);
          MPI_Reduce(a, b, 1000, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD); took(2 * 9);
          MPI_Reduce(a, b, 1000, MPI_DOUBLE, MPI_SUM, 1, MPI_COMM_WORLD); took(2 * 9);
          MPI_Bcast(a, 8000, MPI_CHAR, 0, MPI_COMM_WORLD);                took(9);
          MPI_Bcast(a, 8000, MPI_CHAR, 1, MPI_COMM_WORLD);                took(9 + 9);
          MPI_Allgather(a, 8000, MPI_CHAR, b, 8000, MPI_CHAR, MPI_COMM_WORLD); took(2 * 9 + 25);
          MPI_Scatter(b, 8000, MPI_CHAR, a, 8000, MPI_CHAR, 0, MPI_COMM_WORLD); took(9);
          if (rank == 0) MPI_Send(a, 8000, MPI_CHAR, 2, 0, MPI_COMM_WORLD);
          if (rank == 2) MPI_Recv(a, 8000, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          took(9 - 1); /* the parent, rank 0, has left the barrier 1 us before */
          MPI_Request long_one, short_one; /* which is taken in after the long one */
          MPI_Iallreduce(a, b, 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &long_one);
          MPI_Iallreduce(a, b + 8000, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &short_one);
          MPI_Wait(&short_one, MPI_STATUS_IGNORE); took(2 * 9 + 3 * 1.008);
          MPI_Wait(&long_one, MPI_STATUS_IGNORE);  took(0);
          if (rank == 0) MPI_Ssend(a, 0, MPI_CHAR, 2, 0, MPI_COMM_WORLD);
          if (rank == 2) MPI_Recv(a, 0, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          took(1 - 1);
          return end();
        }
    """
    run = run_program(body, 3, PER_NODE, "3", cluster=slow_memory)
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr
    assert run.report["links"] == [], "something went over the links"
    (row,) = (row for row in run.report["collectives"] if row["function"] == "MPI_Allreduce")
    assert row["memory_us"] == row["fabric_us"] == pytest.approx(27, abs=0.02)


def test_times_of_a_node_and_the_network(run_program: Program, slow_memory: str) -> None:
    """A node's ranks add their memory's time to that of one rank per node, and the report lists it."""
    body = """
        static char a[8000], b[8000];
        int main(int c, char** v) {
          begin(&c, &v);
          MPI_Allreduce(a, b, 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
          return end();
        }
    """
    rows = []
    for ranks, options in ((4, ()), (8, (PER_NODE, "2"))):
        report = run_program(body, ranks, *options, cluster=slow_memory).report
        rows += [row for row in report["collectives"] if row["function"] == "MPI_Allreduce"]
    assert rows[1]["memory_us"] == pytest.approx(9 + 9, abs=0.02)
    assert rows[1]["fabric_us"] == pytest.approx(rows[0]["fabric_us"] + rows[1]["memory_us"], abs=0.2)


def test_a_message_in_memory_overtakes_what_is_on_its_way_over_pcie(run_program: Program, tmp_path: Path) -> None:
    """Rank 0 continues while a message for its neighbour has nearly arrived, and its own arrives first: 0.1 us, not 1
    us."""
    cluster = tmp_path / "quick.toml"
    cluster.write_text(
        '[topology]\nshape = "ring"\nsize = [2]\n[host]\nmemory_overhead_ns = 100\npcie_latency_ns = 1000\n'
    )
    body = """
        int main(int c, char** v) {
          static char data[4096];
          MPI_Status first, second;
          begin(&c, &v);
          MPI_Request sent;
          if (rank == 2) MPI_Isend(data, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &sent);
          if (rank == 2) MPI_Send(data, 4096, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
          if (rank == 0) MPI_Recv(data, 1, MPI_CHAR, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          if (rank == 0) MPI_Send(data, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
          if (rank == 1) MPI_Recv(data, 4096, MPI_CHAR, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &first);
          if (rank == 1) MPI_Recv(data, 4096, MPI_CHAR, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &second);
          if (rank == 2) MPI_Wait(&sent, MPI_STATUS_IGNORE);
          if (rank == 1) CHECK(first.MPI_SOURCE == 0 && second.MPI_SOURCE == 2);
          return end();
        }
    """
    run = run_program(body, 3, PER_NODE, "2", cluster=str(cluster))
    assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stdout + run.stderr


def test_late_ranks(run_program: Program) -> None:
    """Waiting time is not counted as communication, whichever rank of a node is late."""
    body = """
        int main(int c, char** v) {
          begin(&c, &v);
          for (int i = 0, sum; i < 200; i++) {
            MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            CHECK(sum == 28);
          }
          return end();
        }
    """

    def sums(*options: str) -> tuple[float, float]:
        run = run_program(body, 8, PER_NODE, "2", *options)
        assert (run.exit_code, run.stdout) == (0, "all right\n"), run.stderr
        (row,) = (row for row in run.report["collectives"] if row["function"] == "MPI_Allreduce")
        return row["waiting_us"], row["fabric_us"]

    (_, plain), (waiting, late) = sums(), sums("--skew", "uniform:50:3")
    assert waiting == pytest.approx(200 * 8 * 50 * (8 / 9 - 1 / 2), rel=0.1)
    assert late < 1.02 * plain


@pytest.mark.long
def test_runs_are_alike(run_program: Program) -> None:
    reports = [run_program("messages.c", 8, PER_NODE, "4", "--skew", "exponential:5:2").report for _ in range(2)]
    assert reports[0] == reports[1]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "int x[9], y[9], n[4] = {1, 1, 1, 1}, at[4] = {0, 2, 4, 6}; "
            "MPI_Gatherv(x, rank == 3 ? 2 : 1, MPI_INT, y, n, at, MPI_INT, 0, MPI_COMM_WORLD);",
            "rank 3 has 8 bytes for rank 0, which takes 4",
        ),
        (
            "int x = 1, y; if (rank != 3) MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); "
            "else MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);",
            "max of 1 int32",
        ),
        (
            "if (rank != 3) MPI_Barrier(MPI_COMM_WORLD); else MPI_Recv(&rank, 1, MPI_INT, 2, 7, MPI_COMM_WORLD, NULL);",
            "ranks 0-2: in MPI_Barrier, waits for rank 3 on MPI_COMM_WORLD, collective 1 there, since",
        ),
    ],
)
def test_the_ranks_cannot_go_on(run_program: Program, body: str, said: str) -> None:
    program = f"int main(int argc, char** argv) {{ begin(&argc, &argv); {body} return end(); }}"
    run = run_program(program, 4, PER_NODE, "2", "--timeout", "20")
    assert run.exit_code == 124
    assert said in run.stderr
