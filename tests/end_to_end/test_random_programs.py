# SPDX-License-Identifier: Apache-2.0
"""Do random programs give right results on the fabric: every collective, overlapping, on more communicators than it has
rows?

Program i of a run is that of the seed plus i; a wrong result or a hang names it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import ROOT, Mpi, Thalweg


@pytest.fixture(scope="session")
def program(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mpi.build([ROOT / "tests/end_to_end/random_programs.c"], tmp_path_factory.mktemp("random") / "random")


def check(
    thalweg: Thalweg, program: Path, folder: Path, ranks: int, rows: int, seed: int, count: int, per_node: int = 1
) -> None:
    print(f"seeds {seed} to {seed + count - 1} on {ranks} ranks, {rows} rows")
    cluster = folder / "narrow.toml"
    cluster.write_text(f'[topology]\nshape = "torus"\nsize = [2, 2, 2]\n[collective]\ncontexts = {rows}\n')
    options = ["--compute", "none", "--timeout", "60", "--ranks-per-node", str(per_node)]
    run = thalweg(ranks, str(cluster), [program, str(seed), str(count)], *options, timeout=2000)
    assert (run.exit_code, run.stdout) == (0, f"{count} programs are right\n"), run.stdout + run.stderr
    left = {reason for reason in run.report["fallback"] if per_node == 1 or "several ranks on a node" not in reason}
    assert left == {"no row free in the network's tables"}, "as many communicators as rows"
    assert len(run.report["offloaded"]) > 40, "not every form of every collective was in the network"


@pytest.mark.sample(2)
@pytest.mark.slow
def test_a_hundred_programs(thalweg: Thalweg, program: Path, tmp_path: Path) -> None:
    """In seeds 51 and 131 an all-to-all without data began because another operation ended."""
    check(thalweg, program, tmp_path, 4, 3, 51, 100)


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.parametrize(("ranks", "per_node"), [(8, 2), (7, 3)])
def test_programs_whose_ranks_share_nodes(
    thalweg: Thalweg, program: Path, tmp_path: Path, ranks: int, per_node: int, seed: int
) -> None:
    check(thalweg, program, tmp_path, ranks, 3, seed, 30, per_node)


@pytest.mark.long
@pytest.mark.parametrize(("ranks", "rows"), [(2, 3), (3, 2), (4, 3), (5, 4), (8, 3)])
def test_hundreds_of_programs(
    thalweg: Thalweg, program: Path, tmp_path: Path, ranks: int, rows: int, seed: int
) -> None:
    check(thalweg, program, tmp_path, ranks, rows, seed + 200 * ranks, 80)
