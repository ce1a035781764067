# SPDX-License-Identifier: Apache-2.0
"""Does a forbidden include fail to compile? A shared folder may include only the shared folders below it and no system,
and a system no other system; a front includes its system, and simulated code includes no front. in_switch, which
combines systems, includes these.

Systems and their fronts are found by their folders: the system of tests/systems/relay, placed into a copy of the tree,
is one of them.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RELAY = ROOT / "tests/systems/relay"
LEAVES = {
    "core": set[str](),
    "cluster": {"core"},
    "memory": {"core", "cluster"},
    "common": {"core"},
    "link": {"core", "common"},
    "ethernet": {"core", "common", "link", "cluster"},
    "switch": {"core", "common", "link"},
    "reduce": {"core", "common"},
    "network": {"core", "common", "link", "switch"},
    "launch": set[str](),
    "kernels": {"core"},
    "queue": {"core", "cluster"},
    "session": {"core", "cluster", "queue"},
    "attach": {"core", "common", "link", "cluster", "ethernet", "queue", "session"},
}
"""Folders that each may include besides itself."""
SIMULATED = {path.name: path for root in (ROOT, RELAY) for path in (root / "sim").iterdir() if path.is_dir()}
RUNNING = {path.name: path for path in (ROOT / "runtime").iterdir() if path.is_dir()}
SYSTEMS = sorted(SIMULATED.keys() - LEAVES.keys())
FRONTS = {
    "mpi": {"mpi_fpga", "launch", "queue", "session"},
    "in_switch": {"mpi_fpga", "accl", "smi", "smi_front", "queue", "session", "kernels"},
    **{f"{system}_front": {system, "queue", "session", "kernels"} for system in SYSTEMS if system in RUNNING},
}
PLACES = SIMULATED | {f"{name}_front" if name in SYSTEMS else name: path for name, path in RUNNING.items()}
"""Folders by the names of their libraries: a front whose folder has the same name as its system has a library of
another name."""
FOLDERS = sorted(PLACES)


@pytest.fixture(scope="session")
def compilers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The build's compile command for a file of each folder, without the file."""
    folder = tmp_path_factory.mktemp("build")
    for tree in (ROOT / "sim", ROOT / "runtime", RELAY / "sim"):
        shutil.copytree(tree, folder / tree.name, copy_function=os.symlink, dirs_exist_ok=True)
    for name in FOLDERS:  # a header-only library has no compile command: each gets a file
        (folder / f"{name}.cpp").touch()
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(layers CXX)\nset(CMAKE_EXPORT_COMPILE_COMMANDS ON)\n"
        "add_library(thalweg_options INTERFACE)\nadd_subdirectory(sim)\nadd_subdirectory(runtime)\n"
        + "".join(
            f"add_library(user_of_{name} OBJECT {name}.cpp)\ntarget_link_libraries(user_of_{name} thalweg_{name})\n"
            for name in FOLDERS
        )
    )
    binaries = Path(sys.executable).parent
    command = [binaries / "cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja"]
    subprocess.run([*command, f"-DCMAKE_MAKE_PROGRAM={binaries}/ninja"], check=True, capture_output=True)
    found = {}
    for entry in json.loads((folder / "build/compile_commands.json").read_text()):
        source = Path(entry["file"])
        if source.parent == folder:
            words = shlex.split(entry["command"])
            found[source.stem] = [*words[: words.index("-o")], f"-I{ROOT}/spec/generated/cpp", "-std=c++20"]
    return found


def compiles(compiler: list[str], header: str) -> bool:
    command = [*compiler, "-fsyntax-only", "-x", "c++", "-"]
    done = subprocess.run(command, input=f'#include "{header}"\n', capture_output=True, text=True, check=False)
    assert not done.returncode or "No such file or directory" in done.stderr, done.stderr
    return not done.returncode


def seen(compiler: list[str], headers: dict[str, str]) -> set[str]:
    """Folders whose headers the compiler finds: an include of any other one does not compile."""
    source = "".join(f'#if __has_include("{header}")\n{name}\n#endif\n' for name, header in headers.items())
    command = [*compiler, "-E", "-P", "-x", "c++", "-"]
    return set(subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout.split())


def test_there_is_no_folder_that_is_neither_leaf_nor_system() -> None:
    """Some shared folders count as a system for Python: those that are measured on their own."""
    packages = [*(ROOT / "python/thalweg/systems").glob("*/__init__.py"), *RELAY.glob("python/*/__init__.py")]
    assert sorted({package.parent.name for package in packages} - LEAVES.keys()) == SYSTEMS


HEADERS = {name: f"{place.name}/{sorted(place.glob('*.hpp'))[0].name}" for name, place in PLACES.items()}


def may_include(folder: str) -> set[str]:
    leaves = SIMULATED.keys() & LEAVES.keys()
    return leaves | FRONTS[folder] if folder in FRONTS else LEAVES.get(folder, leaves)


@pytest.mark.parametrize("folder", FOLDERS)
def test_it_sees_what_it_may_include_and_nothing_else(folder: str, compilers: dict[str, list[str]]) -> None:
    assert seen(compilers[folder], HEADERS) == {folder} | may_include(folder)


def test_a_forbidden_include_does_not_compile(compilers: dict[str, list[str]]) -> None:
    assert compiles(compilers["link"], HEADERS["common"])
    assert not compiles(compilers["link"], HEADERS["mpi_fpga"])
    assert not compiles(compilers["common"], HEADERS["link"])
    assert not compiles(compilers["mpi_fpga"], HEADERS["mpi"])
