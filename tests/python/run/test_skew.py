# SPDX-License-Identifier: Apache-2.0
"""Are ranks delayed as the user requests, the same in every run, and is the delay reported apart from communication?"""

from __future__ import annotations

import pytest
from programs import Thalweg as Program

OPERATIONS, RANKS, US = 400, 4, 10.0
SUMS = f"""
int main(int c, char** v) {{
  int sum;
  begin(&c, &v);
  for (int i = 0; i < {OPERATIONS}; i++) {{
    MPI_Request request;
    if (i % 2) MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    if (i % 2) MPI_Wait(&request, MPI_STATUS_IGNORE);
    else MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == 6);
  }}
  return end();
}}
"""
# The last of n ranks comes after n / (n + 1) of the largest delay, or after H_n means; each one after half, or after
# one.
WAITING = {"uniform": RANKS / (RANKS + 1) - 1 / 2, "exponential": 1 / 2 + 1 / 3 + 1 / 4}


@pytest.mark.sample(2)
@pytest.mark.parametrize("distribution", list(WAITING))
def test_what_ranks_wait_is_what_the_distribution_says(run_program: Program, distribution: str) -> None:
    def sums(run: object) -> tuple[float, float]:
        rows = [row for row in run.report["collectives"] if "allreduce" in row["function"].lower()]  # type: ignore[attr-defined]
        return sum(row["waiting_us"] for row in rows), sum(row["fabric_us"] for row in rows)

    plain = run_program(SUMS, RANKS)
    late = run_program(SUMS, RANKS, "--skew", f"{distribution}:{US}:7")
    assert (late.exit_code, late.stdout) == (0, "all right\n"), late.stderr
    waiting, fabric = sums(late)
    assert waiting == pytest.approx(OPERATIONS * RANKS * US * WAITING[distribution], rel=0.1)
    assert fabric < 1.02 * sums(plain)[1], "waiting is counted as communication"


@pytest.mark.sample(2)
def test_the_seed_decides(run_program: Program) -> None:
    runs = [run_program(SUMS, RANKS, "--skew", f"uniform:{US}:{seed}").report for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]
