# SPDX-License-Identifier: Apache-2.0
"""The launcher of an installed MPI, which starts the ranks of a program."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from thalweg import extras
from thalweg.errors import InputError
from thalweg.launch import scratch
from thalweg.launch.processes import Output

WRITING_TO = ["sh", "-c", 'out=$0 err=$1; shift; exec "$@" >"$out" 2>"$err"']
"""Start of a command line, to be followed by two files, for stdout and stderr, and a command."""

_BANNER = re.compile(
    r"^=+\n=   BAD TERMINATION(?:.*\n)+?=+\n(?:YOUR APPLICATION TERMINATED .*\nThis typically .*\nPlease see .*\n?)?",
    re.MULTILINE,
)
_LIBRARY = re.compile(r"=> (\S+/lib(mpich|mpi)\.so\.(\d+))")
_FIRST_OF_OPEN_MPI = 20  # soname of libmpi.so: MPICH has 12, Open MPI 20 or 40


@dataclass(frozen=True)
class Launcher:
    """The launcher of an installed MPI, and its family (`mpich` or `openmpi`)."""

    mpiexec: Path
    family: str

    def command(self, ranks: int, variables: Mapping[str, str], output: Output) -> list[str]:
        """Returns the start of a command line that runs a program on `ranks` ranks with `variables` and redirects the
        ranks' output."""
        if self.family == "mpich":
            out, err = (str(fifo).replace("%", "%%") for fifo in output.streams.values())
            command = [str(self.mpiexec), "-launcher", "fork", "-outfile-pattern", out, "-errfile-pattern", err]
            command += ["-n", str(ranks)]
            return command + [word for name, value in variables.items() for word in ("-genv", name, value)]
        command = [*WRITING_TO, *map(str, output.streams.values())]
        command += [str(self.mpiexec), "--bind-to", "none", "--oversubscribe", "-n", str(ranks)]
        return command + [word for name, value in variables.items() for word in ("-x", f"{name}={value}")]

    def environment(self) -> dict[str, str]:
        """Environment for the launcher: Open MPI puts its files into the scratch folder and may run as root."""
        if self.family == "mpich":
            return {}
        place = str(scratch.folder())
        return {
            "PRTE_MCA_prte_tmpdir_base": place,
            "OMPI_MCA_btl_sm_backing_directory": place,
            "OMPI_MCA_mpi_yield_when_idle": "1",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "PRTE_ALLOW_RUN_AS_ROOT": "1",
            "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        }


def without_banner(output: str) -> str:
    """Returns a launcher's messages without MPICH's banner about failed processes."""
    return _BANNER.sub("", output).strip()


def find_program(name: str) -> str:
    """Returns the path of the program named on a command line. Raises InputError if it cannot be executed."""
    found = shutil.which(name)
    if found is None:
        path = Path(name)
        if path.is_dir():
            raise InputError(f"{name} is a folder, not a program")
        if path.exists() and "/" not in name:
            raise InputError(f"there is no program {name} on the PATH; for the file in this folder, give ./{name}")
        if path.exists():
            raise InputError(f"{name} is not executable")
        raise InputError(f"there is no program {name}")
    return found


def find_mpi(name: str) -> tuple[Launcher, Path]:
    """Returns the launcher and the compiler wrapper of the MPI selected by `--mpi`.

    `mpich` is the one of this Python environment; anything else is the folder of an installation (`/usr`,
    `/opt/openmpi`, or its `bin`). Raises InputError.
    """
    folder = Path(sys.executable).parent if name == "mpich" else Path(name)
    for place in (folder, folder / "bin"):
        mpicc, mpiexec = place / "mpicc", place / "mpiexec"
        if mpicc.exists() and mpiexec.exists():
            family = "openmpi" if _is_open_mpi(mpicc) else "mpich"
            # do not resolve links: a launcher looks for its helpers next to its real path
            return Launcher(mpiexec.resolve(), family), mpicc
    if name == "mpich":
        raise InputError(f"there is no MPI in {folder}: {extras.install('mpi')}, or give --mpi FOLDER")
    raise InputError(f"--mpi {name}: no mpicc and mpiexec in {folder} or {folder / 'bin'}")


def _is_open_mpi(mpicc: Path) -> bool:
    return subprocess.run([mpicc, "--showme:version"], capture_output=True, check=False).returncode == 0


def launcher_of(program: str) -> Launcher | None:
    """Returns the launcher of the MPI that a program is linked with; None for scripts and programs without MPI.

    Raises InputError if that MPI has no launcher.
    """
    found = _linked(program)
    return None if found is None else found[0]


def mpi_of(program: str) -> tuple[Launcher, Path] | None:
    """The same with the compiler wrapper. Raises InputError if that MPI lacks one of them."""
    if (found := _linked(program)) is None:
        return None
    launcher, folder = found
    for name in (f"mpicc.{launcher.family}", "mpicc"):
        if os.access(folder / name, os.X_OK):
            return launcher, folder / name
    raise InputError(f"{program} is linked with the MPI of {folder}, which has no mpicc there; give --mpi FOLDER")


def _linked(program: str) -> tuple[Launcher, Path] | None:
    """Returns the launcher of the MPI that a program is linked with, and its folder."""
    environment = {**os.environ, "LC_ALL": "C"}
    shown = subprocess.run(["ldd", program], capture_output=True, text=True, check=False, env=environment).stdout
    if (found := _LIBRARY.search(shown)) is None:
        return None
    library = Path(found[1])
    family = "mpich" if found[2] == "mpich" or int(found[3]) < _FIRST_OF_OPEN_MPI else "openmpi"
    for folder in _folders(library):
        for name in (f"mpiexec.{family}", "mpiexec"):
            if os.access(folder / name, os.X_OK):
                return Launcher((folder / name).resolve(), family), folder
    raise InputError(f"{program} is linked with {library}, which has no mpiexec; give --mpi FOLDER")


def _folders(library: Path) -> Iterator[Path]:
    """Yields the folders that may contain a library's launcher: `bin` beside or above the library's folder."""
    for around in dict.fromkeys([*library.resolve().parents, *library.parents]):
        yield around / "bin"
