# SPDX-License-Identifier: Apache-2.0
"""Table 5 and Figure 14 of the MPI-FPGA paper, with our own programs of equal communication patterns (apps/)."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from thalweg.errors import CheckFailed, InputError
from thalweg.launch import scratch
from thalweg.resources import resource

PROGRAMS = {
    "CG": ("cg", ("-n", "32"), ("-n", "64")),
    "IS": ("is", ("-n", "16384"), ("-n", "131072")),
    "MG": ("mg", ("-n", "32"), ("-n", "64")),
}
"""For each program of Table 5 our program, with arguments for two sizes; the second has eight times the work."""


def build(name: str, folder: Path) -> Path:
    """Compiles a program of apps/. Raises InputError if that fails."""
    from thalweg.systems.mpi_fpga.mpi.library import find_library

    program = folder / name
    sources = [*resource(f"apps/{name}").glob("*.c"), *resource("apps/common").glob("*.c")]
    command = [find_library("mpich").mpicc, "-O2", "-g", *sources, "-o", program, "-lm"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise InputError(f"apps/{name} does not compile: {(done.stderr.splitlines() or ['no reason given'])[0]}")
    return program


def run(name: str, arguments: Sequence[str], ranks: int, cluster: str) -> dict[str, Any]:
    """Returns the report of a run, with instances. Raises CheckFailed if the program does not verify its result."""
    with tempfile.TemporaryDirectory(dir=scratch.folder()) as place:
        folder = Path(place)
        report = folder / "report.json"
        options = ["-n", str(ranks), "--cluster", cluster, "--instances", "--json", str(report)]
        command = [sys.executable, "-m", "thalweg", "run", *options, "--", str(build(name, folder)), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            message = next(iter((done.stderr + done.stdout).splitlines()), "nothing was said")
            raise CheckFailed(f"{name} on {ranks} ranks ended with {done.returncode}: {message}")
        loaded: dict[str, Any] = json.loads(report.read_text())
        return loaded
