# SPDX-License-Identifier: Apache-2.0
"""Does the benchmark verify on the fabric, with all of the network's collectives computed there?"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from programs import ROOT, Thalweg, execute
from test_osu import COLLECTIVES, FORMS, MESSAGES, OTHERS, VECTORS, rows

pytestmark = pytest.mark.slow


def check(
    thalweg: Thalweg,
    osu: Path,
    ranks: int,
    cluster: str,
    sizes: str,
    operations: list[str],
    *words: str,
    form: str = "blocking",
    timeout: float = 600,
) -> dict[str, list[list[str]]]:
    run = thalweg(
        ranks,
        cluster,
        [osu, "-m", sizes, "-f", form, *words, *operations],
        "--compute",
        "none",
        "--timeout",
        str(timeout),
        timeout=timeout,
    )
    assert run.exit_code == 0, run.stderr
    tables = rows(run.stdout)
    assert list(tables) == [name if name in MESSAGES else FORMS[form] + name for name in operations]
    for name, table in tables.items():
        assert {row[-1] for row in table} == {"-" if name.endswith("barrier") else "yes"}
        assert all(float(row[2]) > 0 for row in table if row[0] != "0" or name.endswith("barrier"))
    assert run.report["fallback"] == {}
    return tables


@pytest.mark.sample(2)
def test_eight_ranks_all_operations(thalweg: Thalweg, osu: Path) -> None:
    tables = check(
        thalweg,
        osu,
        8,
        "mpi-fpga-torus-2x2x2",
        "4:64K",
        COLLECTIVES + OTHERS + VECTORS + MESSAGES,
        "-i",
        "2",
        "-x",
        "1",
    )
    # Virtual time: a message of one hop takes PCIe twice and the link's 440 ns, plus at most a few hundred ns.
    latency = float(tables["latency"][0][2])
    assert 2 * 0.260 + 0.440 < latency < 1.5


@pytest.mark.parametrize("form", ["nonblocking", "persistent"])
def test_every_form(thalweg: Thalweg, osu: Path, form: str) -> None:
    check(
        thalweg, osu, 5, "mpi-fpga-torus-2x2x2", "0:4K", COLLECTIVES + OTHERS + VECTORS, "-i", "1", "-x", "1", form=form
    )


@pytest.mark.parametrize("form", ["nonblocking", "persistent"])
def test_a_rank_computes_while_its_collective_goes_on(thalweg: Thalweg, osu: Path, form: str) -> None:
    names = ["allreduce", "alltoall"]
    tables = check(thalweg, osu, 8, "mpi-fpga-torus-2x2x2", "64:16K", names, "-i", "2", "-x", "1", "-c", form=form)
    for table in tables.values():
        for _, _, overall, pure, compute, overlap, _ in table:
            assert float(overall) >= float(compute) >= float(pure) > 0
            assert float(overlap) > 90, "computing held up the network"


@pytest.mark.long
def test_the_sweep() -> None:
    done = execute([sys.executable, ROOT / "apps/osu/sweep.py"], timeout=5000)
    assert done.returncode == 0, done.stdout[-2000:]
    assert done.stdout.count(": right, ") == 39


@pytest.mark.long
def test_64_ranks_to_256_kilobytes(thalweg: Thalweg, osu: Path) -> None:
    """Continues after the end of the sweep."""
    check(thalweg, osu, 64, "mpi-fpga-torus-4x4x4", "8K:256K", COLLECTIVES, "-i", "1", "-x", "0", timeout=3000)


@pytest.mark.long
def test_128_ranks_to_16_kilobytes(thalweg: Thalweg, osu: Path) -> None:
    check(thalweg, osu, 128, "mpi-fpga-torus-4x4x8", "4:16K", COLLECTIVES, "-i", "1", "-x", "0", timeout=3000)
