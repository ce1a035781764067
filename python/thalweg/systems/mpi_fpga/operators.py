# SPDX-License-Identifier: Apache-2.0
"""User-defined operators and units in the switches: C++ files that use `thalweg_operator.hpp` and `thalweg_unit.hpp`,
compiled into one library."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from thalweg.errors import InputError
from thalweg.launch import scratch
from thalweg.resources import resource
from thalweg.systems.mpi_fpga._sim import CollectiveConfig


def compiler() -> str:
    """Returns the C++ compiler: CXX, or the system's. Raises InputError if there is none."""
    found = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if found is None:
        raise InputError("no C++ compiler: install g++, or name one in CXX")
    return found


@contextmanager
def _compiled(files: Sequence[Path]) -> Iterator[Path]:
    flags = ["-std=c++20", "-O2", "-ffp-contract=off", "-fPIC", "-shared", "-fno-gnu-unique"]
    with tempfile.TemporaryDirectory(dir=scratch.folder()) as folder:
        library = Path(folder) / "operators.so"
        done = subprocess.run(
            [compiler(), *flags, f"-I{resource('sim/reduce/include')}", "-o", library, *files],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines()
            raise InputError(next((line for line in lines if "error" in line), lines[0] if lines else "c++ fails"))
        library.chmod(0o700)
        yield library


def load_operators(collective: CollectiveConfig, files: Sequence[Path]) -> dict[str, int]:
    """Adds the operators and units of C++ `files` to the switches.

    Returns the operators' names, in the order of their codes, with element sizes in bytes. Raises InputError if a file
    does not compile, or its contents cannot be built into a switch.
    """
    for file in files:
        if not file.is_file():
            raise InputError(f"there is no file {file}")
    with _compiled(files) as library:
        try:
            return dict(collective.load_operators(str(library)))
        except ValueError as error:
            raise InputError(f"{', '.join(map(str, files))}: {error}") from error
