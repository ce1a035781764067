# SPDX-License-Identifier: Apache-2.0
"""Yosys on modules of the RTL, each time in a process of its own: a request goes in as JSON, and results are files.

What Yosys prints goes to the process's stdout.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from thalweg.launch import processor_time
from thalweg.rtl.folders import packages, rtl_folders
from thalweg.rtl.tools import BuildError

if TYPE_CHECKING:
    from pyosys import libyosys as ys


@dataclass(frozen=True)
class Request:
    """What is to be read; what is to be done with it stands in the classes derived from this."""

    top: str
    sources: list[str]
    folders: list[str]  #: searched for the modules that the sources name
    parameters: dict[str, int | str]


Wanted = TypeVar("Wanted", bound=Request)


def sources(root: Path, folder: str, *files: Path) -> list[str]:
    """The packages of a module of rtl/`folder`, and the files `files`, which come before others of the same modules."""
    return [str(path) for path in [*packages(root, folder), *files]]


def folders(root: Path, folder: str, further: Iterable[str] = ()) -> list[str]:
    """Those that there are: a system may have no parts, and Yosys refuses a folder that is missing."""
    return [str(root / part) for part in (*rtl_folders(folder), *further) if (root / part).is_dir()]


def start(program: str, request: Request, failure: str, seconds: int | None = None) -> None:
    """Has the Python module `program` do what is requested.

    Raises a BuildError that says `failure`, with the last that Yosys printed, and subprocess.TimeoutExpired after `seconds` of
    processor time.
    """
    done = processor_time.run([sys.executable, "-m", program], seconds, json.dumps(asdict(request)))
    if done.returncode:
        last_command = done.stdout.rpartition("-- Running command")[2]
        raise BuildError(failure, "\n".join(last_command.splitlines()[-20:]))


def requested(kind: type[Wanted]) -> Wanted:
    """What this process is to do."""
    return kind(**json.load(sys.stdin))


def read(request: Request, assertions: bool, whole: bool = True) -> tuple[ys.Design, Callable[[str], None]]:
    """The design, elaborated, and what runs a command of Yosys on it: one module if `whole`, else one for each instance."""
    from pyosys import libyosys as ys

    design = ys.Design()

    def run(command: str) -> None:
        ys.run_pass(command, design)

    options = ["--no-synthesis-define"] if assertions else ["-D SYNTHESIS"]
    options += [] if whole else ["--best-effort-hierarchy"]
    options += [f"-G {name}={value}" for name, value in request.parameters.items()]
    options += [f"-y {folder}" for folder in request.folders]
    run(f"read_slang --top {request.top} {' '.join(options + request.sources)}")
    return design, run
