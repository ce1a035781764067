# SPDX-License-Identifier: Apache-2.0
"""Can a person read the report of a program with thousands of communicators, and does JSON keep them all?"""

from __future__ import annotations

import re

from programs import Thalweg as Program
from thalweg.systems.mpi_fpga.mpi.together import together

MANY = """int main(int argc, char** argv) {
  begin(&argc, &argv);
  for (int i = 0; i < 30; ++i) {
    MPI_Comm whole, half;
    MPI_Comm_dup(MPI_COMM_WORLD, &whole);
    MPI_Barrier(whole);
    MPI_Comm_split(whole, rank % 2, rank, &half);
    MPI_Barrier(half);
    MPI_Comm_free(&half);
    MPI_Comm_free(&whole);
  }
  return end();
}"""


def test_communicators_of_a_kind_are_one_row(run_program: Program) -> None:
    run = run_program(MANY, 4, "--instances")
    rows = re.findall(r"MPI_Barrier +(\S.*?) +(\d+) +network +\w+ +(\d+) ", run.stderr)
    assert sorted(rows) == [
        ("30 of MPI_Comm_dup", "4", "120"),
        ("60 of MPI_Comm_split", "2", "120"),
        ("MPI_COMM_WORLD", "4", "4"),
    ]
    assert len(run.report["collectives"]) == 91
    assert "more rows" not in run.stderr
    assert re.search(r"MPI_Barrier +30 of MPI_Comm_dup +0 +30 ", run.stderr)  # instances: bytes, times


def test_rows_are_put_together_as_they_should() -> None:
    row = {"communicator": "A #1", "ranks": 2, "operations": 1, "sum": 3, "mean": 4.0, "share": 0.1}
    other = {**row, "communicator": "A #2", "operations": 3, "sum": 5, "mean": 8.0}
    alone = {**row, "communicator": "A #3", "ranks": 4}
    unknown = {**row, "communicator": "B #4", "sum": None, "mean": None}
    (both, single, none) = together(
        [row, alone, unknown, other, {**unknown, "communicator": "B #5"}],
        ["ranks"],
        ["operations", "sum"],
        ["mean"],
        {"share": ("sum", "mean")},
    )
    assert both == {"communicator": "2 of A", "ranks": 2, "operations": 4, "sum": 8, "mean": 7.0, "share": 8 / 7}
    assert single == alone
    assert (none["communicator"], none["sum"], none["mean"], none["share"]) == ("2 of B", None, None, None)
