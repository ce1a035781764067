# SPDX-License-Identifier: Apache-2.0
"""Tools that a user of an exported folder runs on it: FuseSoC's lint, and cocotb's runner, with Verilator."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pytest
from cocotb_tools.runner import get_runner
from thalweg.rtl.tools import verilator


def launcher(folder: Path, first: str = "") -> Path:
    """Creates a command `verilator` in a folder, and returns the folder; `first` is a line of shell."""
    program, root = verilator()
    file = folder / "verilator"
    folder.mkdir(exist_ok=True)
    file.write_text(f'#!/bin/sh\n{first}\nVERILATOR_ROOT={root} exec {program} "$@"\n')
    file.chmod(0o755)
    return folder


@pytest.fixture
def lint(tmp_path: Path) -> Callable[[Path], subprocess.CompletedProcess[str]]:
    """Lints a folder by FuseSoC, which copies only the files that the core file names."""
    path = f"{launcher(tmp_path / 'bin')}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "XDG_CONFIG_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}

    def run(folder: Path) -> subprocess.CompletedProcess[str]:
        (core,) = folder.glob("*.core")
        name = core.read_text().split("name: ")[1].split()[0]
        return subprocess.run(
            ["fusesoc", "--cores-root", str(folder), "run", "--target", "lint", name],
            env=environment,
            cwd=tmp_path,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )

    return run


@pytest.fixture
def simulate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Callable[..., int]:
    """Runs cocotb's tests of a module beside the test's own on an exported folder, and returns their number; the test
    fails if one of them fails."""
    # Variables that the package itself leaves blank; and a model in one file, which compiles fast and runs for seconds.
    monkeypatch.setenv("MAKEFLAGS", "-- CFG_CXXFLAGS_PCH_I=-include VM_PARALLEL_BUILDS=0 OPT_FAST=-O0 OPT_GLOBAL=-O0")

    # A file names the signals that the test sees; the runner would make all signals visible.
    visible = 'for word; do shift; [ "$word" = --public-flat-rw ] || set -- "$@" "$word"; done'
    path = f"{launcher(tmp_path / 'bin', visible)}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    monkeypatch.setenv("VERILATOR_ROOT", str(verilator()[1]))

    def run(
        folder: Path,
        top: str,
        module: str,
        seed: int,
        beside: Sequence[str],
        parameters: Mapping[str, object] = MappingProxyType({}),
        build_args: Sequence[str] = (),
    ) -> int:
        """`beside`: further files beside the test: the list of visible signals, and sources."""
        runner = get_runner("verilator")
        runner.build(
            sources=[
                folder / "lint.vlt",
                *(folder / name for name in (folder / "files.f").read_text().split()),
                *(request.path.parent / name for name in beside),
            ],
            hdl_toplevel=top,
            build_dir=tmp_path / "build",
            parameters=parameters,
            build_args=build_args,
            timescale=("1ns", "1ps"),
            log_file=tmp_path / "build.log",
        )
        results = runner.test(
            test_module=module,
            test_dir=request.path.parent,
            hdl_toplevel_lang="verilog",
            hdl_toplevel=top,
            build_dir=tmp_path / "build",
            results_xml=str(tmp_path / "results.xml"),
            seed=seed,
            extra_env={
                "THALWEG_EXPORT": str(folder),
                "COCOTB_LOG_LEVEL": "WARNING",
                "PYTHONWARNINGS": "ignore::DeprecationWarning",
            },
        )
        return len(list(ElementTree.parse(results).iter("testcase")))

    return run
