# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the programs of the tests of `thalweg run`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from programs import ROOT, Run, thalweg_run
from thalweg.systems.mpi_fpga.mpi import library

PROGRAMS = Path(__file__).parent / "programs"
MPICC = Path(sys.executable).parent / "mpicc"

Program = Callable[..., Run]


@pytest.fixture(scope="session", autouse=True)
def built_interposer() -> None:
    """Built in advance, so that no run reports a build."""
    library.interposer(library.find_library("mpich"))


@pytest.fixture
def run_program(tmp_path: Path) -> Program:
    """Compiles a program of programs/, or the given C text, and runs it on the fabric: its own work takes no time."""

    def run(
        source: str,
        ranks: int = 4,
        *options: str,
        arguments: tuple[str, ...] = (),
        cluster: str = "torus:2x2x2",
        timeout: float = 120,
        folder: Path | None = None,
        flags: tuple[str, ...] = (),
    ) -> Run:
        file = PROGRAMS / source
        if not source.endswith(".c"):
            file = tmp_path / "program.c"
            file.write_text(f'#include "check.h"\n{source}')
        program = tmp_path / "program"
        subprocess.run(
            [MPICC, "-O1", "-w", "-I", PROGRAMS, "-I", ROOT / "runtime/mpi/include", "-o", program, file, *flags],
            check=True,
        )
        chosen = options if "--compute" in options else ("--compute", "none", *options)
        return thalweg_run(tmp_path, ranks, cluster, [program, *arguments], *chosen, timeout=timeout, place=folder)

    return run
