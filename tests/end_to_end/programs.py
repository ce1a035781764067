# SPDX-License-Identifier: Apache-2.0
"""Runs whole programs in tests: with an installed MPI, and on the fabric."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
QUICK = {
    "MPIR_CVAR_NOLOCAL": "1",
    "MPIR_CVAR_CH4_NETMOD": "ofi",
    "FI_PROVIDER": "tcp",
    "FI_TCP_MAX_INJECT": "0",
}
"""More ranks than cores: MPICH's shared memory spins, its sockets sleep."""


def installed(folder: Path, name: str, system: str) -> dict[str, str]:
    """An environment in which a system's package from a folder is installed, as by pip. `system`: `module:object`."""
    about = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    about.mkdir(exist_ok=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[thalweg.systems]\n{name} = {system}\n")
    path = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(path)}


def left_over(mark: str) -> list[int]:
    """Processes that still run and inherited the mark."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def execute(
    command: Sequence[str | Path],
    environment: dict[str, str] | None = None,
    timeout: float = 300,
    folder: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end, and checks that none of its processes outlives it."""
    mark = f"THALWEG_TEST={uuid.uuid4()}"
    name, value = mark.split("=")
    result = subprocess.run(
        [str(word) for word in command],
        env={**os.environ, **(environment or {}), name: value},
        text=True,
        capture_output=True,
        timeout=timeout,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert not left_over(mark), f"processes are left of {command}"
    return result


@dataclass(frozen=True)
class Mpi:
    """An installed MPI: its compilers and its launcher."""

    cc: Path
    exec: Path
    fortran: Path | None = None
    preload: tuple[Path, ...] = ()  #: libraries preloaded into its programs

    def run(
        self, ranks: int, command: Sequence[str | Path], environment: dict[str, str] | None = None, timeout: float = 300
    ) -> subprocess.CompletedProcess[str]:
        given = {**QUICK, **(environment or {})}
        if self.preload:
            given["LD_PRELOAD"] = ":".join([*map(str, self.preload), *filter(None, [given.get("LD_PRELOAD")])])
        return execute([self.exec, "-n", str(ranks), *command], given, timeout)

    def build(self, source: Sequence[Path], program: Path, *options: str) -> Path:
        subprocess.run([self.cc, "-O2", *options, *source, "-o", program, "-lm"], check=True)
        return program


@dataclass(frozen=True)
class Run:
    """The results of `thalweg run`."""

    exit_code: int
    stdout: str
    stderr: str
    report: dict[str, Any]  #: without the command line, which contains the name of the report's file


def thalweg_run(
    folder: Path,
    ranks: int,
    cluster: str,
    command: Sequence[str | Path],
    *options: str,
    environment: dict[str, str] | None = None,
    timeout: float = 300,
    place: Path | None = None,
) -> Run:
    file = folder / f"run-{uuid.uuid4()}.json"
    done = execute(
        [
            sys.executable,
            "-m",
            "thalweg",
            "run",
            "-n",
            str(ranks),
            "--cluster",
            cluster,
            "--json",
            file,
            *options,
            "--",
            *command,
        ],
        environment,
        timeout,
        place,
    )
    report = json.loads(file.read_text()) if file.exists() else {}
    report.pop("thalweg", None)
    return Run(done.returncode, done.stdout, done.stderr, report)


Thalweg = Callable[..., Run]
