# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of whole programs: an MPI to run them with, and the benchmark, built once."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from programs import ROOT, Mpi, Thalweg, thalweg_run
from thalweg.systems.mpi_fpga.mpi import library


@pytest.fixture(scope="session", autouse=True)
def built_interposer() -> None:
    """Built in advance, so that no run reports a build."""
    library.interposer(library.find_library("mpich"))


@pytest.fixture(scope="session")
def mpi() -> Mpi:
    """The MPICH that comes with the package."""
    folder = Path(sys.executable).parent
    return Mpi(folder / "mpicc", folder / "mpiexec")


YIELDING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
unsigned ucp_worker_progress(void* worker) {
  static unsigned (*next)(void*);
  if (!next) next = (unsigned (*)(void*))dlsym(RTLD_NEXT, "ucp_worker_progress");
  unsigned events = next(worker);
  if (!events) sched_yield();
  return events;
}
"""


@pytest.fixture(scope="session")
def system_mpi(tmp_path_factory: pytest.TempPathFactory) -> Mpi:
    """The system's MPICH, which has Fortran. Debian's MPICH always spins through UCX; here it yields."""
    found = [shutil.which(f"{name}.mpich", path="/usr/bin:/usr/local/bin") for name in ("mpicc", "mpiexec", "mpif90")]
    if not all(found):
        pytest.skip("Fortran wants the system's MPICH: apt-get install mpich libmpich-dev gfortran")
    cc, launcher, fortran = map(Path, filter(None, found))
    source = tmp_path_factory.mktemp("yielding") / "yielding.c"
    source.write_text(YIELDING)
    library = source.with_suffix(".so")
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library, "-ldl"], check=True)
    return Mpi(cc, launcher, fortran, (library,))


@pytest.fixture(scope="session")
def osu(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The benchmark of apps/osu."""
    return mpi.build(sorted((ROOT / "apps/osu").glob("*.c")), tmp_path_factory.mktemp("osu") / "osu")


@pytest.fixture
def thalweg(tmp_path: Path) -> Thalweg:
    """`thalweg run`, see `thalweg_run`."""
    return partial(thalweg_run, tmp_path)
