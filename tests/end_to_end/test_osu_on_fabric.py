"""Does the benchmark verify on the fabric, with all of the network's collectives computed there?"""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import Thalweg
from test_osu import COLLECTIVES, OTHERS, rows

pytestmark = pytest.mark.slow


def check(
    thalweg: Thalweg,
    osu: Path,
    ranks: int,
    cluster: str,
    sizes: str,
    operations: list[str],
    *words: str,
    timeout: float = 600,
) -> dict[str, list[list[str]]]:
    run = thalweg(
        ranks,
        cluster,
        [osu, "-m", sizes, *words, *operations],
        "--compute",
        "none",
        "--timeout",
        str(timeout),
        timeout=timeout,
    )
    assert run.exit_code == 0, run.stderr
    tables = rows(run.stdout)
    assert list(tables) == operations
    for name, table in tables.items():
        assert {row[-1] for row in table} == {"-" if name == "barrier" else "yes"}
        assert all(float(row[2]) > 0 for row in table)
    left = {row["function"] for row in run.report["collectives"] if not row["offloaded"]}
    assert not left & {f"MPI_{name.capitalize()}" for name in COLLECTIVES}
    return tables


def test_eight_ranks_all_operations(thalweg: Thalweg, osu: Path) -> None:
    tables = check(thalweg, osu, 8, "mpi-fpga-torus-2x2x2", "4:64K", COLLECTIVES + OTHERS, "-i", "2", "-x", "1")
    # Virtual time: a message of one hop takes PCIe twice and the link's 440 ns, and no more than a few hundred ns on top.
    latency = float(tables["latency"][0][2])
    assert 2 * 0.260 + 0.440 < latency < 1.5


@pytest.mark.long
def test_64_ranks_to_a_megabyte(thalweg: Thalweg, osu: Path) -> None:
    check(thalweg, osu, 64, "mpi-fpga-torus-4x4x4", "4:1M", COLLECTIVES, "-i", "2", "-x", "1", timeout=3000)


@pytest.mark.long
def test_128_ranks_to_64_kilobytes(thalweg: Thalweg, osu: Path) -> None:
    check(thalweg, osu, 128, "mpi-fpga-torus-4x4x8", "4:64K", COLLECTIVES, "-i", "2", "-x", "1", timeout=3000)
