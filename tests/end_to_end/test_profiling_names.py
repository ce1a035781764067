# SPDX-License-Identifier: Apache-2.0
"""Are calls by the names of MPI's profiling interface simulated like others, however the program is linked?"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from programs import ROOT, Mpi, Thalweg


def run(thalweg: Thalweg, program: Path) -> tuple[str, dict[str, object]]:
    done = thalweg(4, "torus:2x2x2", [program], "--compute", "none", "--timeout", "60")
    assert done.exit_code == 0, done.stderr
    return done.stdout, done.report


@pytest.mark.sample(4)
@pytest.mark.parametrize("options", [(), ("-Wl,-z,now",), ("-fno-plt",), ("-no-pie",)])
def test_they_take_the_same_time(mpi: Mpi, thalweg: Thalweg, tmp_path: Path, options: tuple[str, ...]) -> None:
    source = [ROOT / "tests/end_to_end/profiling_names.c"]
    usual = run(thalweg, mpi.build(source, tmp_path / "usual", *options))
    assert usual[0].startswith("right at ")
    assert run(thalweg, mpi.build(source, tmp_path / "direct", "-DDIRECT", *options)) == usual


def test_fortran_2008(system_mpi: Mpi, thalweg: Thalweg, tmp_path: Path) -> None:
    source, program = ROOT / "tests/end_to_end/fortran_2008.f90", tmp_path / "fortran_2008"
    subprocess.run([str(system_mpi.fortran), source, "-o", program], check=True)
    done = thalweg(4, "torus:2x2x2", [program])
    assert (done.exit_code, done.stdout) == (0, "right\n"), done.stderr
    assert sum(row["calls"] for row in done.report["collectives"]) == 16
