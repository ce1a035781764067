# SPDX-License-Identifier: Apache-2.0
"""Does the wheel that tools/release builds work in an empty environment, away from the clone: its functions without
extras, and programs with them?"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SENDS = """
#include <smi.h>
__kernel void passes(const int N, SMI_Comm comm) {
  int rank = SMI_Comm_rank(comm);
  if (rank == 0) {
    SMI_Channel out = SMI_Open_send_channel(N, SMI_INT, 1, 0, comm);
    for (int i = 0; i < N; i++) SMI_Push(&out, &i);
  } else {
    SMI_Channel in = SMI_Open_receive_channel(N, SMI_INT, 0, 0, comm);
    for (int i = 0; i < N; i++) {
      int data;
      SMI_Pop(&in, &data);
    }
  }
}
"""
SUM = "from mpi4py import MPI; assert MPI.COMM_WORLD.allreduce(1) == 4"


@pytest.fixture(scope="module")
def dist() -> Path:
    subprocess.run([ROOT / "tools/release", sys.executable], check=True)
    return ROOT / "dist"


def wheel_of(dist: Path) -> Path:
    """The wheel for this interpreter."""
    (wheel,) = dist.glob(f"*-cp3{min(sys.version_info[1], 12)}-*manylinux*.whl")
    return wheel


def installed(folder: Path, wheel: str) -> Callable[..., str]:
    """Returns a function that runs a command in `folder`, in an environment that contains only the wheel and its
    dependencies. `stop_at`: ends a server when it has printed this."""
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    pip: list[str | Path] = [environment / "bin/pip", "--disable-pip-version-check", "--quiet", "install"]
    subprocess.run([*pip, "--constraint", ROOT / "constraints.txt", wheel], check=True)
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "THALWEG"))}

    def run(*words: str | Path, status: int = 0, stop_at: str = "") -> str:
        command: list[str | Path] = [environment / "bin" / words[0], *words[1:]]
        if stop_at:
            with subprocess.Popen(command, cwd=folder, env=variables, stdout=subprocess.PIPE, text=True) as server:
                assert server.stdout and stop_at in server.stdout.readline()
                server.terminate()
                assert server.wait(60) == status
            return ""
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=120)
        assert done.returncode == status, done.stderr
        return done.stdout + done.stderr

    return run


@pytest.mark.long
def test_a_wheel_without_extras(dist: Path, tmp_path: Path) -> None:
    run = installed(tmp_path, str(wheel_of(dist)))
    assert "yes" in run("thalweg", "bench", "allreduce", "--cluster", "torus:2x2", "--sizes", "8")
    assert "proved" in run("thalweg", "route", "torus:4x4")
    assert "pip install 'thalweg[mpi]'" in run("thalweg", "run", "-n", "2", "--", "true", status=125)
    assert "pip install 'thalweg[accl]'" in run(
        "thalweg", "accl", "serve", "-n", "2", "--cluster", "accl-u280-udp", status=2
    )
    with zipfile.ZipFile(wheel_of(dist)) as wheel:
        (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        assert not re.search(rb"\]\((?!https:)", wheel.read(metadata)), "a link into the repository"
    with tarfile.open(next(dist.glob("*.tar.gz"))) as source:
        assert any(name.endswith("/tools/setup") for name in source.getnames())


@pytest.mark.long
def test_a_wheel_with_extras(dist: Path, tmp_path: Path) -> None:
    run = installed(tmp_path, f"{wheel_of(dist)}[accl,export,mpi,smi]")
    (tmp_path / "app.cl").write_text(SENDS)
    run("thalweg", "smi", "run", "-n", "2", "--cluster", "smi-noctua", "app.cl", "--set", "N=100")
    run("thalweg", "accl", "serve", "-n", "2", "--cluster", "accl-u280-udp", stop_at="serving 2 ranks")
    assert "thalweg_node" in run("thalweg", "rtl", "export", "torus:2x2", "--output", "hardware")
    python = tmp_path / "environment/bin/python"
    assert "MPI_Allreduce" in run("thalweg", "run", "-n", "4", "--", python, "-c", SUM)
