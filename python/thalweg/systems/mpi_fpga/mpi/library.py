# SPDX-License-Identifier: Apache-2.0
"""The MPI library of a run, and the interposer for it: compiled on demand against the library's own `mpi.h`, and kept."""

from __future__ import annotations

import functools
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from thalweg.errors import InputError
from thalweg.files import write_text
from thalweg.launch import scratch
from thalweg.launch.locks import alone, own, private
from thalweg.launch.mpi import Launcher, find_mpi
from thalweg.launch.processes import Output
from thalweg.resources import resource
from thalweg.systems.mpi_fpga.mpi import wrappers
from thalweg.systems.mpi_fpga.operators import compiler as cxx


@dataclass(frozen=True)
class MpiLibrary(Launcher):
    """An installed MPI: its launcher, and its compiler wrapper."""

    mpicc: Path

    @functools.cached_property
    def compile_flags(self) -> list[str]:
        """What its compiler wrapper adds to the command line of a compiler."""
        option = "-show" if self.family == "mpich" else "--showme"
        shown = subprocess.run([self.mpicc, option], capture_output=True, text=True, check=False)
        if shown.returncode != 0:
            raise InputError(f"{self.mpicc} {option} fails: {shown.stderr.strip()}")
        return shlex.split(shown.stdout)[1:]

    def launch(self, ranks: int, preload: Path, environment: dict[str, str], output: Output) -> list[str]:
        """The start of the command line that runs a program on `ranks` ranks with `environment` and the interposer, and puts
        what they write there."""
        preloaded = ":".join(filter(None, [str(preload), os.environ.get("LD_PRELOAD")]))
        return self.command(ranks, {**environment, "LD_PRELOAD": preloaded}, output)

    def settings(self, share_memory: bool) -> dict[str, str]:
        """The environment that lets many ranks share few processors: each sleeps in the kernel while it waits for a message. MPICH's then
        cannot `share_memory` in windows.

        No write to a window is injected: a flush does not wait until an injected one is in the target's memory."""
        if self.family != "mpich":
            return self.environment()
        local = {} if share_memory else {"MPIR_CVAR_NOLOCAL": "1"}
        return {**local, "MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp", "FI_TCP_MAX_INJECT": "0"}


def find_library(name: str) -> MpiLibrary:
    """The MPI that `--mpi` names. Raises InputError."""
    launcher, mpicc = find_mpi(name)
    return MpiLibrary(launcher.mpiexec, launcher.family, mpicc)


def sources() -> tuple[Path, list[Path]]:
    """The folder of the interposer's sources, and the folders that its includes are looked up in."""
    return resource("runtime/mpi/interposer"), [resource(name) for name in ("runtime", "sim", "spec/generated/cpp")]


def _cache_folder() -> Path:
    """The first that is this user's alone and can be written: that of a virtual environment, the user's, or one for this run."""
    folders = [Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "thalweg"]
    if sys.prefix != sys.base_prefix and os.access(sys.prefix, os.W_OK):
        folders.insert(0, Path(sys.prefix) / "var" / "thalweg")
    for folder in folders:
        with suppress(OSError, InputError):
            if os.access(private(folder), os.W_OK):
                return folder
    return private(scratch.folder() / "cache")


@dataclass(frozen=True)
class Interposer:
    """A compiled interposer, and the functions that it wraps, in the order of their numbers, large-count forms under the plain name."""

    path: Path
    functions: list[str]


_FLAGS = ["-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-static-libstdc++", "-static-libgcc"]


def interposer(library: MpiLibrary) -> Interposer:
    """The interposer for `library`: taken from the cache, or compiled (ten seconds)."""
    compiler = cxx()
    folder, includes = sources()
    headers = [folder.parent, folder.parents[1] / "launch", resource("spec/generated/cpp")]
    files = sorted([*folder.glob("*.[ch]pp"), *(f for i in headers for f in i.glob("*.*"))])
    files.append(resource("sim/mpi_fpga/operation.hpp"))
    header = _run([compiler, "-E", "-x", "c", *library.compile_flags, "-"], "#include <mpi.h>\n")
    if header.returncode != 0:
        raise InputError(f"{compiler} cannot read the mpi.h of {library.mpicc}: {header.stderr.strip()}")
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout
    digest = hashlib.sha256("\0".join([header.stdout, version, *library.compile_flags]).encode())
    for file in [*files, *wrappers.sources()]:
        digest.update(file.read_bytes())
    target = _cache_folder() / f"interposer-{library.family}-{digest.hexdigest()[:16]}.so"
    names = target.with_suffix(".functions")  # to ask the standard for them takes longer than the rest of a start
    with alone(target.parent) if not target.exists() else nullcontext():
        if not target.exists():
            if sys.stderr.isatty():
                print(
                    f"thalweg: building the interposer for {_version(library, compiler)} (about 10 s, once)",
                    file=sys.stderr,
                )
            functions = wrappers.declared_functions(header.stdout)
            command = [compiler, *_FLAGS, *(f"-I{include}" for include in includes)]
            with tempfile.TemporaryDirectory(dir=scratch.folder()) as place, scratch.in_place_of(target) as new:
                built = _compile(command, library, functions, sorted(folder.glob("*.cpp")), Path(place))
                write_text(names, "".join(f"MPI_{function.base}\n" for function in functions))
                shutil.copyfile(built, new)
                new.chmod(0o700)
    return Interposer(own(target), names.read_text().split())


_VERSIONS = {
    "mpich": ("MPICH", "MPICH_VERSION"),
    "openmpi": ("Open MPI", "OMPI_MAJOR_VERSION.OMPI_MINOR_VERSION.OMPI_RELEASE_VERSION"),
}


def _version(library: MpiLibrary, compiler: str) -> str:
    """The library's name and version, as its mpi.h has it."""
    name, macros = _VERSIONS[library.family]
    done = _run([compiler, "-E", "-P", "-x", "c", *library.compile_flags, "-"], f"#include <mpi.h>\n{macros}\n")
    return f"{name} {''.join(done.stdout.splitlines()[-1].split())}".replace('"', "")


def _compile(
    command: list[str], library: MpiLibrary, functions: list[wrappers.Function], files: list[Path], place: Path
) -> Path:
    """The wrappers, and beside them the rest in one piece: to read the headers takes most of a source's time."""
    generated, rest, built = place / "wrappers.cpp", place / "rest.cpp", place / "interposer.so"

    def run(*options: str | Path) -> subprocess.CompletedProcess[str]:
        return _run([*command, *map(str, options), *library.compile_flags])

    generated.write_text(wrappers.generate(functions))
    rest.write_text("".join(f'#include "{file}"\n' for file in files))
    with ThreadPoolExecutor() as beside:
        compiled = beside.submit(run, "-c", rest, "-o", f"{rest}.o")
        tried = run("-fsyntax-only", generated)
        generated.write_text(wrappers.generate(functions, wrappers.conflicts(tried.stderr)))
        steps = [run("-c", generated, "-o", f"{generated}.o"), compiled.result()]
    steps.append(run("-shared", f"{generated}.o", f"{rest}.o", "-o", built))
    for done in steps:
        if done.returncode != 0:
            first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip())
            raise InputError(f"the interposer does not compile for {library.mpicc}: {first}")
    return built


def _run(command: list[str], given: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(command, input=given, capture_output=True, text=True, check=False, env=environment)
