# SPDX-License-Identifier: Apache-2.0
"""Do random sequences of calls, whose orders differ between ranks within MPI's rules, give right results on the fabric?

Sequence i of a run is that of the seed plus i; a wrong result or a hang names it.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from programs import ROOT, Mpi, Thalweg

CLUSTER = "mpi-fpga-torus-2x2x2"


@pytest.fixture(scope="session")
def orders(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mpi.build([ROOT / "tests/end_to_end/random_orders.c"], tmp_path_factory.mktemp("orders") / "orders")


def check(mpi: Mpi, thalweg: Thalweg, orders: Path, ranks: int, seed: int, *options: str, runs: int = 15) -> bool:
    """Runs `runs` sequences and compares each one's results with those of MPI alone. False if MPI alone hangs in one of
    them, as MPICH sometimes does on 8 ranks."""
    print(f"seeds {seed} to {seed + runs - 1} on {ranks} ranks")
    command = [orders, str(seed), str(runs)]
    try:
        plain = mpi.run(ranks, command, timeout=100)
    except subprocess.TimeoutExpired:
        print("MPI alone hangs")
        return False
    assert plain.returncode == 0, plain.stdout + plain.stderr
    run = thalweg(ranks, CLUSTER, command, "--compute", "none", "--timeout", "60", *options, timeout=600)
    assert (run.exit_code, run.stdout) == (0, plain.stdout), run.stdout + run.stderr
    return True


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.parametrize("ranks", [pytest.param(2, marks=pytest.mark.long), pytest.param(4, marks=pytest.mark.long), 5])
def test_some_sequences(mpi: Mpi, thalweg: Thalweg, orders: Path, ranks: int) -> None:
    """With seed 2 four ranks free a communicator with a copy in flight, in which MPICH waits."""
    assert check(mpi, thalweg, orders, ranks, 1)


@pytest.mark.sample(4)
@pytest.mark.slow
def test_sequences_whose_ranks_share_nodes(mpi: Mpi, thalweg: Thalweg, orders: Path, seed: int) -> None:
    assert check(mpi, thalweg, orders, 7, seed, "--ranks-per-node", "3")


@pytest.mark.long
def test_ranks_that_wait_complete_copies(mpi: Mpi, thalweg: Thalweg, orders: Path) -> None:
    """A waiting rank is busy with an MPI_Comm_idup inside of MPICH, and needs the others: one launch of twelve hung."""
    for _ in range(4):
        check(mpi, thalweg, orders, 8, 829274677, runs=3)


@pytest.mark.long
@pytest.mark.parametrize("ranks", [2, 3, 4, 6, 8])
def test_hundreds_of_sequences(mpi: Mpi, thalweg: Thalweg, orders: Path, ranks: int, seed: int) -> None:
    starts = (seed + 3000 * ranks + 100 * launch for launch in range(3))
    assert any(check(mpi, thalweg, orders, ranks, start, runs=40) for start in starts), "MPI alone hangs each time"
