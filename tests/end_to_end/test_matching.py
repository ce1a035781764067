# SPDX-License-Identifier: Apache-2.0
"""Are ranks matched on the fabric as by MPI, if each makes its calls in its own order, within MPI's rules?

The programs of tests/end_to_end/matching print the matches; MPI alone gives the reference.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from programs import ROOT, Mpi, Thalweg

RULES = sorted((ROOT / "tests/end_to_end/matching").glob("*.c"))
CLUSTER = "mpi-fpga-torus-2x2x2"


@pytest.fixture(scope="session")
def rules(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mpi.build([*RULES, Path("-lpthread")], tmp_path_factory.mktemp("matching") / "rules")


def by_rule(said: str) -> dict[str, list[str]]:
    made: dict[str, list[str]] = {}
    for line in said.splitlines():
        if not line.startswith(" "):
            rule = made.setdefault(line, [])
        else:
            rule.append(line)
    return made


def check(mpi: Mpi, thalweg: Thalweg, rules: Path, ranks: int, times: int, *options: str) -> None:
    plain = mpi.run(ranks, [rules])
    assert plain.returncode == 0, plain.stdout + plain.stderr
    expected = by_rule(plain.stdout)
    assert len(expected) > 40 and all(expected.values())
    for _ in range(times):
        run = thalweg(ranks, CLUSTER, [rules], "--timeout", "60", *options)
        seen = by_rule(run.stdout)
        wrong = {rule: (lines, seen.get(rule)) for rule, lines in expected.items() if lines != seen.get(rule)}
        assert (run.exit_code, wrong) == (0, {}), run.stderr


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 4, pytest.param(8, marks=pytest.mark.long)])
def test_every_rule(mpi: Mpi, thalweg: Thalweg, rules: Path, ranks: int) -> None:
    check(mpi, thalweg, rules, ranks, 1, "--compute", "none")


@pytest.mark.sample(2)
@pytest.mark.slow
def test_every_rule_where_ranks_share_nodes(mpi: Mpi, thalweg: Thalweg, rules: Path) -> None:
    """A split by type finds other ranks there: its result is not printed."""
    check(mpi, thalweg, rules, 4, 1, "--compute", "none", "--ranks-per-node", "2")


@pytest.mark.long
@pytest.mark.serial
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_many_times_under_load(mpi: Mpi, thalweg: Thalweg, rules: Path, ranks: int) -> None:
    """With measured work the ranks arrive at different times in each run; the load delays them further."""
    spin = [sys.executable, "-c", "while True: pass"]
    load = [subprocess.Popen(spin) for _ in range(os.cpu_count() or 1)]
    try:
        check(mpi, thalweg, rules, ranks, 3)
    finally:
        for process in load:
            process.kill()
            process.wait()
