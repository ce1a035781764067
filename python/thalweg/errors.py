# SPDX-License-Identifier: Apache-2.0
"""What ends a command early. The command line prints each as one line and leaves with its exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


class ThalwegError(Exception):
    """Ends a command with one line and `exit_code`; `thalweg run` leaves with `run_exit_code` instead."""

    exit_code: int
    run_exit_code: int


class InputError(ThalwegError):
    """Bad input: what is wrong, and what would be right; of a file also where, so that the line starts `FILE:LINE: `."""

    exit_code = 2
    run_exit_code = 125

    def __init__(self, what: str, file: str | Path | None = None, line: int | None = None) -> None:
        where = "" if file is None else f"{file}: " if line is None else f"{file}:{line}: "
        super().__init__(where + what)
        self.what = what
        self.file = file
        self.line = line


class CheckFailed(ThalwegError):
    """A check ran and came out wrong: a route table with a cycle, a result that differs."""

    exit_code = 1
    run_exit_code = 1


class RtlDifference(CheckFailed):
    """A router or collective unit of the hardware shows something else than the simulator's, or an assertion in it fails."""

    def __init__(self, text: str, block: str, node: int, cycle: int) -> None:
        super().__init__(text)
        self.block = block
        self.node = node
        self.cycle = cycle


@dataclass(frozen=True)
class Blocked:
    """A kernel, processor or rank that waits."""

    who: str  #: "kernel app of rank 1", "the processor of node 0", "rank 2 of communicator 0"
    what: str  #: what it waits for: "to pop from rank 0, port 3, element 1 of 8", "for 5 at 64 of its memory"
    on: str  #: whose turn it is, named as in that one's `who`; empty where it is not known
    why: str  #: more about it, or nothing
    since_us: float
    where: str  #: "app.cl:12", the line that waits; empty where there is none


class FabricStopped(ThalwegError):
    """The simulated fabric could not go on: a deadlock, a rank that died or never came.

    `blocked` has the kernels, processors or ranks that wait."""

    exit_code = 3
    run_exit_code = 124

    def __init__(self, text: str, blocked: Sequence[Blocked] = ()) -> None:
        super().__init__(text)
        self.blocked = list(blocked)


def one_line(text: str) -> str:
    """`text` on one line; what cannot be printed stands as an escape."""
    joined = " ".join(text.split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in joined)
