# SPDX-License-Identifier: Apache-2.0
"""Do floating sums have the same bits for any placement of ranks, and are the algorithms those that the user requests?"""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from programs import Run
from programs import Thalweg as Program
from thalweg.cli import main

SHAPES = ["torus:4x2", "fattree:12", "ring:9", "star:8", "mesh:3x3"]
PLACEMENTS = ["block", "random:1", "random:2"]
SETTINGS = [
    (),
    ("--algorithm", "allreduce=tree,allgather=tree", "--skew", "uniform:9"),
    ("--algorithm", "barrier=tree", "--skew", "exponential:3:5"),
]


@pytest.fixture
def bits(run_program: Program) -> Program:
    """Runs programs/bits.c: digests of the results of all reductions, on 7 ranks unless stated otherwise."""

    def run(cluster: str, *options: str, ranks: int = 7) -> Run:
        done: Run = run_program(
            "bits.c", ranks, *options, arguments=("alike",) * ("--reproducible" in options), cluster=cluster
        )
        assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, "all right"), done.stdout + done.stderr
        assert done.report["fallback"] == {}
        return done

    return run


@pytest.mark.sample(2)
@pytest.mark.parametrize("ranks", [3, pytest.param(8, marks=pytest.mark.long)])
def test_the_same_bits_on_every_shape_in_every_placement(bits: Program, ranks: int) -> None:
    cases = list(itertools.islice(zip(SHAPES, itertools.cycle(PLACEMENTS), itertools.cycle(SETTINGS)), len(SHAPES)))
    cases += [(SHAPES[0], PLACEMENTS[1], SETTINGS[2]), (SHAPES[1], PLACEMENTS[2], SETTINGS[0])]
    seen = {
        case: bits(case[0], "--reproducible", "--placement", case[1], *case[2], ranks=ranks).stdout for case in cases
    }
    assert len(set(seen.values())) == 1, seen


@pytest.mark.long
def test_settings_that_keep_the_order_keep_the_bits(bits: Program) -> None:
    """Along one tree: independent of other collectives and of late ranks. An exchange has another order."""
    tree = "allreduce=tree,reduce_scatter=tree"
    kept = [
        ("--algorithm", tree),
        ("--algorithm", f"{tree},allgather=tree,barrier=tree"),
        ("--algorithm", f"{tree},barrier=exchange", "--skew", "uniform:20:3"),
        ("--algorithm", tree, "--skew", "exponential:1", "--compute", "measured"),
    ]
    seen = {bits("torus:4x2", *options, ranks=8).stdout for options in kept}
    assert len(seen) == 1
    assert bits("torus:4x2", "--algorithm", "allreduce=exchange", ranks=8).stdout not in seen


@pytest.mark.long
def test_other_orders_give_other_bits(bits: Program) -> None:
    """So the data distinguish orders, and the option has an effect."""
    plain = {bits(shape, "--placement", placement).stdout for shape in SHAPES[:3] for placement in PLACEMENTS[:2]}
    assert len(plain) > 3


def test_what_is_left_to_mpi_is_said(run_program: Program, tmp_path: Path) -> None:
    program = """
    int main(int c, char** v) {
      begin(&c, &v);
      long double x = rank, sum;
      MPI_Allreduce(&x, &sum, 1, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      MPI_Allreduce(&rank, &ranks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      return end();
    }
    """
    run = run_program(program, 4, "--reproducible")
    assert run.exit_code == 0
    assert "warning: 4 calls were reduced by MPI, in an order that --reproducible does not fix" in run.stderr
    assert "warning" not in run_program(program, 4).stderr


def test_wanted_algorithms_are_taken(run_program: Program) -> None:
    program = """
    int main(int c, char** v) {
      begin(&c, &v);
      char x[4096] = {0}, y[4 * 4096];
      MPI_Allreduce(x, y, 8, MPI_SIGNED_CHAR, MPI_SUM, MPI_COMM_WORLD);
      MPI_Allreduce(x, y, 4096, MPI_SIGNED_CHAR, MPI_SUM, MPI_COMM_WORLD);
      MPI_Allgather(x, 8, MPI_CHAR, y, 8, MPI_CHAR, MPI_COMM_WORLD);
      MPI_Bcast(x, 8, MPI_CHAR, 1, MPI_COMM_WORLD);
      return end();
    }
    """

    def taken(*options: str) -> dict[str, list[str]]:
        run = run_program(program, 4, *options)
        assert run.exit_code == 0, run.stderr
        return {row["function"]: row["algorithms"] for row in run.report["collectives"]}

    assert taken("--algorithm", "allreduce=tree,allgather=exchange,barrier=tree") == {
        "MPI_Allreduce": ["tree"],
        "MPI_Allgather": ["exchange"],
        "MPI_Bcast": ["tree"],
        "MPI_Barrier": ["tree"],
    }
    other = taken("--algorithm", "allreduce=exchange,allgather=tree")
    assert (other["MPI_Allreduce"], other["MPI_Allgather"]) == (["exchange"], ["tree"])


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--algorithm", "allreduce"], "'allreduce' is not of the form COLLECTIVE=ALGORITHM, such as allreduce=tree"),
        (["--algorithm", "allredoce=tree"], "unknown collective 'allredoce'; known are barrier, broadcast,"),
        (["--algorithm", "allreduce=oak"], "unknown algorithm 'oak'; known are tree, exchange,"),
        (["--algorithm", "broadcast=halving"], "broadcast of 3 ranks on ring:5 has no halving; it has tree"),
        (["--algorithm", "allgather=exchange"], "allgather of 3 ranks on ring:5 has no exchange; it has tree"),
        (["--algorithm", "allreduce=exchange", "--reproducible"], "--reproducible needs the order of the tree;"),
        (["--placement", "all"], "'all' is not block, random:SEED, or a list of nodes"),
        (["--placement", "0,1"], "--placement has 2 nodes for 3 ranks"),
        (["--placement", "0,1,1"], "node 1 is given twice"),
        (["--placement", "0,1,5"], "there is no node 5 with a host on ring:5; nodes are 0 to 4"),
    ],
)
def test_bad_input_gets_one_line(options: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-n", "3", "--cluster", "ring:5", *options, "--", "/bin/true"]) == 125
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    assert line in captured.err


def test_ranks_are_where_they_are_put(run_program: Program) -> None:
    """On a ring of eight, a message's time follows from its path: one link to a neighbour, four to the opposite node."""
    program = """
    int main(int c, char** v) {
      begin(&c, &v);
      int x;
      if (rank == 0) MPI_Send(&rank, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
      if (rank == 1) MPI_Recv(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Finalize();
    }
    """
    runs = {nodes: run_program(program, 2, "--placement", nodes, cluster="ring:8").report for nodes in ("0,1", "3,7")}
    assert [len(run["links"]) for run in runs.values()] == [1, 4], "the message is all that passes links"
    assert runs["3,7"]["nodes"] == [3, 7]


def test_a_benchmark_has_the_same_bits_and_costs(tmp_path: Path) -> None:
    """Measured times are verified, to the bit, against the order of rank numbers evaluated by numpy."""

    def rows(operation: str, *options: str) -> list[dict[str, object]]:
        file = tmp_path / "rows.json"
        assert main(["bench", operation, "--sizes", "8,4K", *options, "--json", str(file)]) == 0
        found: list[dict[str, object]] = json.loads(file.read_text())["rows"]
        return found

    for operation in ("allreduce", "reduce", "reduce_scatter", "scan"):
        plain, same = (rows(operation, "--cluster", "torus:4x4", *more) for more in ((), ("--reproducible",)))
        assert all(row["verified"] for row in plain + same)
        if operation != "scan":
            assert {row["algorithm"] for row in same} == {"tree"}
            assert all(a["time_kernel_us"] < b["time_kernel_us"] for a, b in zip(plain, same, strict=True))  # type: ignore[operator]
