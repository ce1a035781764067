# SPDX-License-Identifier: Apache-2.0
"""The MPI library of a run, and its interposer, compiled on demand with the library's own `mpi.h` and cached."""

from __future__ import annotations

import functools
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from thalweg.errors import InputError
from thalweg.files import write_text
from thalweg.launch import scratch
from thalweg.launch.locks import alone, cache_folder, own
from thalweg.launch.mpi import Launcher, find_mpi, mpi_of
from thalweg.launch.processes import Output
from thalweg.resources import resource
from thalweg.systems.mpi_fpga.mpi import wrappers
from thalweg.systems.mpi_fpga.operators import compiler as cxx


@dataclass(frozen=True)
class MpiLibrary(Launcher):
    """An installed MPI: launcher and compiler wrapper."""

    mpicc: Path

    @functools.cached_property
    def compile_flags(self) -> list[str]:
        """Flags that its compiler wrapper adds."""
        option = "-show" if self.family == "mpich" else "--showme"
        shown = subprocess.run([self.mpicc, option], capture_output=True, text=True, check=False)
        if shown.returncode != 0:
            raise InputError(f"{self.mpicc} {option} fails: {shown.stderr.strip()}")
        return shlex.split(shown.stdout)[1:]

    def launch(self, ranks: int, preload: Path, environment: dict[str, str], output: Output) -> list[str]:
        """Returns the start of a command line that runs a program on `ranks` ranks with `environment` and the interposer,
        and redirects their output."""
        preloaded = ":".join(filter(None, [str(preload), os.environ.get("LD_PRELOAD")]))
        return self.command(ranks, {**environment, "LD_PRELOAD": preloaded}, output)

    def settings(self, share_memory: bool) -> dict[str, str]:
        """Environment that lets many ranks share few processors: each sleeps in the kernel while it waits for a message.

        MPICH then cannot `share_memory` in windows. Writes to windows are not injected, as a flush would not wait for
        them.
        """
        if self.family != "mpich":
            return self.environment()
        local = {} if share_memory else {"MPIR_CVAR_NOLOCAL": "1"}
        return {**local, "MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp", "FI_TCP_MAX_INJECT": "0"}


def find_library(name: str) -> MpiLibrary:
    """Returns the MPI selected by `--mpi`. Raises InputError."""
    return _library(*find_mpi(name))


def library_of(programs: Iterable[str]) -> MpiLibrary:
    """Returns the MPI that the programs are linked with; for scripts, that of this Python environment. Raises InputError."""
    found = {_library(*mpi): program for program in programs if (mpi := mpi_of(program))}
    if len(found) > 1:
        raise InputError("the programs are linked with different MPIs: " + ", ".join(found.values()))
    return next(iter(found), None) or find_library("mpich")


def _library(launcher: Launcher, mpicc: Path) -> MpiLibrary:
    return MpiLibrary(launcher.mpiexec, launcher.family, mpicc)


def sources() -> tuple[Path, list[Path]]:
    """Returns the folder of the interposer's sources, and its include folders."""
    return resource("runtime/mpi/interposer"), [resource(name) for name in ("runtime", "sim", "spec/generated/cpp")]


@dataclass(frozen=True)
class Interposer:
    """A compiled interposer, and the functions that it wraps, by number; large-count forms have the plain name."""

    path: Path
    functions: list[str]


_FLAGS = ["-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-static-libstdc++", "-static-libgcc"]


def interposer(library: MpiLibrary) -> Interposer:
    """Returns the interposer for `library`, from the cache or newly compiled (10 s)."""
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
    target = cache_folder() / f"interposer-{library.family}-{digest.hexdigest()[:16]}.so"
    names = target.with_suffix(
        ".functions"
    )  # cached, because reading the standard takes longer than the rest of the start
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
    """Returns name and version of the library, from its mpi.h."""
    name, macros = _VERSIONS[library.family]
    done = _run([compiler, "-E", "-P", "-x", "c", *library.compile_flags, "-"], f"#include <mpi.h>\n{macros}\n")
    return f"{name} {''.join(done.stdout.splitlines()[-1].split())}".replace('"', "")


def _compile(
    command: list[str], library: MpiLibrary, functions: list[wrappers.Function], files: list[Path], place: Path
) -> Path:
    """Compiles the wrappers, and in parallel all other sources as one unit, since parsing the headers dominates."""
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
