# SPDX-License-Identifier: Apache-2.0
"""Do the examples print the documented output, with plain MPI and on the fabric, and are all their calls in the report?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pmpi_count
import pytest
from programs import ROOT, Mpi, Run, Thalweg

pytestmark = pytest.mark.slow

RANKS = 8
CLUSTER = "mpi-fpga-torus-2x2x2"


@pytest.fixture(scope="session")
def counter(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pmpi_count.build(str(mpi.cc), tmp_path_factory.mktemp("count"))


@pytest.fixture(scope="session")
def pi(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mpi.build([ROOT / "examples/pi/pi.c"], tmp_path_factory.mktemp("pi") / "pi")


@pytest.fixture(scope="session")
def heat(system_mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("heat") / "heat"
    subprocess.run([str(system_mpi.fortran), "-O2", "-w", ROOT / "examples/heat/heat.f90", "-o", program], check=True)
    return program


def check(
    example: str,
    mpi: Mpi,
    counter: Path,
    command: list[str | Path],
    thalweg: Thalweg,
    folder: Path,
    *options: str,
) -> Run:
    """Plain MPI and the fabric print the same; the report counts the calls made to plain MPI."""
    expected = (ROOT / f"examples/{example}/{example}.out").read_text()
    counts = folder / "counts"
    counts.mkdir()
    plain = mpi.run(RANKS, command, {"LD_PRELOAD": str(counter), "PMPI_COUNT": str(counts)})
    assert (plain.returncode, plain.stdout) == (0, expected)

    run = thalweg(RANKS, CLUSTER, command, *options)
    assert (run.exit_code, run.stdout) == (0, expected), run.stderr
    counted = pmpi_count.counts(counts)
    assert counted["MPI_Finalize"] == RANKS
    assert run.report["calls"] == counted
    return run


def test_pi(mpi: Mpi, counter: Path, pi: Path, thalweg: Thalweg, tmp_path: Path) -> None:
    run = check("pi", mpi, counter, [pi], thalweg, tmp_path)
    assert run.report["fallback"] == {}


@pytest.mark.sample(2)
def test_grid(mpi: Mpi, counter: Path, thalweg: Thalweg, tmp_path: Path) -> None:
    check("grid", mpi, counter, [sys.executable, ROOT / "examples/grid/grid.py"], thalweg, tmp_path)


@pytest.mark.long
def test_heat(system_mpi: Mpi, heat: Path, thalweg: Thalweg, tmp_path: Path) -> None:
    counter = pmpi_count.build(str(system_mpi.cc), tmp_path)
    for name, tool in (("mpicc", system_mpi.cc), ("mpiexec", system_mpi.exec)):  # the plain names may be another MPI's
        (tmp_path / name).symlink_to(tool)
    check("heat", system_mpi, counter, [heat], thalweg, tmp_path, "--mpi", str(tmp_path))


@pytest.mark.long
def test_places_of_calls_in_fortran(system_mpi: Mpi, thalweg: Thalweg, tmp_path: Path) -> None:
    source, program = tmp_path / "heat.f90", tmp_path / "heat"
    text = (ROOT / "examples/heat/heat.f90").read_text()
    assert text.count("step = 1, 2000") == 1
    source.write_text(text.replace("step = 1, 2000", "step = 1, 20"))
    subprocess.run([str(system_mpi.fortran), "-g", "-O2", "-w", source, "-o", program], check=True)
    run = thalweg(RANKS, CLUSTER, [program], "--instances", "--compute", "none", "--mpi", "/usr")
    assert run.exit_code == 0, run.stderr
    expected: dict[str, set[str]] = {}
    for number, line in enumerate(source.read_text().splitlines(), start=1):
        for row in run.report["instances"]:
            if f"call {row['function']}(" in line:
                expected.setdefault(row["function"], set()).add(f"heat.f90:{number}")
    called = {row["function"] for row in run.report["instances"]}
    assert called == expected.keys()
    for row in run.report["instances"]:
        assert row["place"] in expected[row["function"]]
