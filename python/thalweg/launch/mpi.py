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

from thalweg.errors import InputError
from thalweg.launch import scratch
from thalweg.launch.processes import Output

WRITING_TO = ["sh", "-c", 'out=$0 err=$1; shift; exec "$@" >"$out" 2>"$err"']
"""The start of a command line: two files and a command that writes its output and its errors there follow."""

_BANNER = re.compile(
    r"^=+\n=   BAD TERMINATION(?:.*\n)+?=+\n(?:YOUR APPLICATION TERMINATED .*\nThis typically .*\nPlease see .*\n?)?",
    re.MULTILINE,
)
_LIBRARY = re.compile(r"=> (\S+/lib(mpich|mpi)\.so\.(\d+))")
_FIRST_OF_OPEN_MPI = 20  # of libmpi.so: MPICH's is 12, Open MPI's 20 or 40


@dataclass(frozen=True)
class Launcher:
    """An installed MPI's launcher, and its family (`mpich` or `openmpi`)."""

    mpiexec: Path
    family: str

    def command(self, ranks: int, variables: Mapping[str, str], output: Output) -> list[str]:
        """The start of the command line that runs a program on `ranks` ranks with `variables`, and puts what they write there."""
        if self.family == "mpich":
            out, err = (str(fifo).replace("%", "%%") for fifo in output.streams.values())
            command = [str(self.mpiexec), "-launcher", "fork", "-outfile-pattern", out, "-errfile-pattern", err]
            command += ["-n", str(ranks)]
            return command + [word for name, value in variables.items() for word in ("-genv", name, value)]
        command = [*WRITING_TO, *map(str, output.streams.values())]
        command += [str(self.mpiexec), "--bind-to", "none", "--oversubscribe", "-n", str(ranks)]
        return command + [word for name, value in variables.items() for word in ("-x", f"{name}={value}")]

    def environment(self) -> dict[str, str]:
        """What the launcher needs: Open MPI's puts its files into our folder, and runs as root."""
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


def without_banner(said: str) -> str:
    """A launcher's own messages without what MPICH's says when a process has ended without success."""
    return _BANNER.sub("", said).strip()


def find_program(name: str) -> str:
    """The path of the program that a command line names. Raises InputError where there is none that can be run."""
    found = shutil.which(name)
    if found is None:
        path = Path(name)
        if path.is_dir():
            raise InputError(f"{name} is a folder, not a program")
        if path.exists() and "/" not in name:
            raise InputError(f"there is no program {name} on the PATH; the file in this folder is ./{name}")
        if path.exists():
            raise InputError(f"{name} is not executable")
        raise InputError(f"there is no program {name}")
    return found


def find_mpi(name: str) -> tuple[Launcher, Path]:
    """The launcher and the compiler wrapper of the MPI that `--mpi` names: `mpich` is the one of this Python environment, anything else the
    folder that holds one (`/usr`, `/opt/openmpi`, or its `bin`). Raises InputError."""
    folder = Path(sys.executable).parent if name == "mpich" else Path(name)
    for place in (folder, folder / "bin"):
        mpicc, mpiexec = place / "mpicc", place / "mpiexec"
        if mpicc.exists() and mpiexec.exists():
            family = "openmpi" if _is_open_mpi(mpicc) else "mpich"
            # A launcher looks for its helpers beside itself, not beside a link to it.
            return Launcher(mpiexec.resolve(), family), mpicc
    if name == "mpich":
        raise InputError(f"there is no MPI in {folder}: install the package mpich there, or give --mpi FOLDER")
    raise InputError(f"--mpi {name}: no mpicc and mpiexec in {folder} or {folder / 'bin'}")


def _is_open_mpi(mpicc: Path) -> bool:
    return subprocess.run([mpicc, "--showme:version"], capture_output=True, check=False).returncode == 0


def launcher_of(program: str) -> Launcher | None:
    """The launcher of the MPI that a program is linked with; None for a script, or a program without MPI. Raises InputError if that MPI has none."""
    environment = {**os.environ, "LC_ALL": "C"}
    shown = subprocess.run(["ldd", program], capture_output=True, text=True, check=False, env=environment).stdout
    if (found := _LIBRARY.search(shown)) is None:
        return None
    library = Path(found[1])
    family = "mpich" if found[2] == "mpich" or int(found[3]) < _FIRST_OF_OPEN_MPI else "openmpi"
    for folder in _folders(library):
        for name in (f"mpiexec.{family}", "mpiexec"):
            if os.access(folder / name, os.X_OK):
                return Launcher((folder / name).resolve(), family)
    raise InputError(f"{program} is linked with {library}, and there is no mpiexec beside that; give --mpi FOLDER")


def _folders(library: Path) -> Iterator[Path]:
    """Those in which the launcher of a library may be: `bin` beside or above the library's folder."""
    for around in dict.fromkeys([*library.resolve().parents, *library.parents]):
        yield around / "bin"
