# SPDX-License-Identifier: Apache-2.0
"""Runs Yosys on RTL modules. Each run is a process that reads a request as JSON and writes its results to files.

The output of Yosys goes to the process's stdout.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from thalweg.launch import processor_time
from thalweg.rtl.folders import packages, rtl_folders
from thalweg.rtl.tools import BuildError

if TYPE_CHECKING:
    from pyosys import libyosys as ys


@dataclass(frozen=True)
class Request:
    """The design to read; derived classes define what to do with it."""

    top: str
    sources: list[str]
    folders: list[str]  #: search path for modules
    parameters: dict[str, int | str]


Bit = int | str
"""A bit in Yosys' JSON: a number is a net, a string a constant."""


def net_names(module: Mapping[str, Any]) -> dict[Bit, str]:
    """Returns, for each net of a flat module in Yosys' JSON, the shortest RTL name of a whole signal."""
    names: dict[Bit, str] = {}
    for name, wire in module["netnames"].items():
        for bit in () if name.startswith("$") else wire["bits"]:
            if bit not in names or len(name) < len(names[bit]):
                names[bit] = name
    return names


Wanted = TypeVar("Wanted", bound=Request)


def sources(root: Path, folder: str, *files: Path) -> list[str]:
    """Returns the packages of rtl/`folder`, then `files`, whose modules take precedence over others of equal name."""
    return [str(path) for path in [*packages(root, folder), *files]]


def folders(root: Path, folder: str, further: Iterable[str] = ()) -> list[str]:
    """Returns the existing search folders of rtl/`folder`; Yosys rejects missing ones."""
    return [str(root / part) for part in (*rtl_folders(folder), *further) if (root / part).is_dir()]


def start(program: str, request: Request, failure: str, seconds: int | None = None) -> None:
    """Runs the Python module `program` with a request.

    Raises BuildError with the message `failure` and the end of Yosys' output, and subprocess.TimeoutExpired after
    `seconds` of processor time.
    """
    done = processor_time.run([sys.executable, "-m", program], seconds, json.dumps(asdict(request)))
    if done.returncode:
        last_command = done.stdout.rpartition("-- Running command")[2]
        raise BuildError(failure, "\n".join(last_command.splitlines()[-20:]))


def requested(kind: type[Wanted]) -> Wanted:
    """Returns the request to this process."""
    return kind(**json.load(sys.stdin))


def read(request: Request, assertions: bool, whole: bool = True) -> tuple[ys.Design, Callable[[str], None]]:
    """Returns the elaborated design, and a function that runs a Yosys command on it.

    The design is one module if `whole`, else one module per instance.
    """
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
