# SPDX-License-Identifier: Apache-2.0
"""The virtual times and cycle counts that the simulator must keep through all changes: ticks/SYSTEM.txt, for the
commands in ticks/SYSTEM.py.

python tests/end_to_end/ticks.py [SYSTEM ...] rewrites them: after an intended change of times, the diff shows the
affected ones.
"""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from programs import ROOT
from thalweg import cli

FILES = Path(__file__).parent / "ticks"
PROGRAMS = {
    "osu": sorted((ROOT / "apps/osu").glob("*.c")),
    "cg": [ROOT / "apps/cg/cg.c", *sorted((ROOT / "apps/common").glob("*.c"))],
}
"""Sources of the programs whose names appear in commands."""


@dataclass(frozen=True)
class Case:
    """A command, and whether it takes at most a second or two."""

    command: str
    quick: bool


SYSTEMS = sorted(file.stem for file in FILES.glob("*.py"))

KEPT = (
    "sharing",
    "job",
    "function",
    "algorithm",
    "bytes",
    "load",
    "bit_error_rate",
    "calls",
    "time_kernel_us",
    "time_whole_us",
    "time_alone_us",
    "time_us",
    "virtual_time_us",
    "packets",
    "cycles",
    "flit_hops",
    "router_cycles",
    "max_latency_cycles",
    "average_latency_cycles",
    "goodput",
    "flits",
)
"""The fields of a result that depend on time, and those that identify it."""


def cases(system: str) -> Iterator[Case]:
    """A system's commands, in the order of the recorded file."""
    yield from runpy.run_path(str(FILES / f"{system}.py"))["cases"]()


def _value(value: object) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _rows(result: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Rows of a JSON result: the whole of a run, and the rows that it lists."""
    if "rows" not in result:
        yield result
    for listed in ("rows", "jobs", "collectives", "links"):
        for row in result.get(listed, []):
            if listed == "jobs":
                yield from _rows(row)
            else:
                yield row


def _command(words: list[str]) -> tuple[int, str]:
    """Exit code and error output of a command in this process: starting a process takes longer than most commands."""
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        code = cli.main(words)
    return code, said.getvalue()


def _process(words: list[str]) -> tuple[int, str]:
    done = subprocess.run([sys.executable, "-m", "thalweg", *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def measured(command: str, programs: Mapping[str, Path]) -> list[str]:
    """The measurements of a command, one line per row of its result; its error message if it is refused."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "result.json"
        front, *behind = command.split(" -- ")
        words = [*shlex.split(front), "--json", str(file)]
        if behind:
            words += ["--", *(str(programs.get(word, word)) for word in shlex.split(behind[0]))]
        code, said = _command(words) if words[0] == "bench" else _process(words)
        if not file.exists():
            return [f"exit code {code}: {said.strip()}"]
        return [
            " ".join(f"{name}={_value(row[name])}" for name in KEPT if row.get(name) is not None)
            for row in _rows(json.loads(file.read_text()))
        ]


def read(system: str) -> dict[str, list[str]]:
    """The lines of each command."""
    found: dict[str, list[str]] = {}
    for line in (FILES / f"{system}.txt").read_text().splitlines():
        if line.startswith("$ thalweg "):
            lines = found.setdefault(line.removeprefix("$ thalweg "), [])
        else:
            lines.append(line)
    return found


def build(folder: Path) -> dict[str, Path]:
    """Builds the programs; returns them by name."""
    compiler = Path(sys.executable).with_name("mpicc")
    for name, sources in PROGRAMS.items():
        subprocess.run([compiler, "-O2", *sources, "-o", folder / name, "-lm"], check=True)
    return {name: folder / name for name in PROGRAMS}


def main(systems: list[str]) -> None:
    FILES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        programs = build(Path(folder))
        for system in systems or SYSTEMS:
            commands = list(cases(system))
            with (FILES / f"{system}.txt").open("w") as file:
                for case in commands:
                    print(
                        f"$ thalweg {case.command}", *measured(case.command, programs), sep="\n", file=file, flush=True
                    )


if __name__ == "__main__":
    main(sys.argv[1:])
