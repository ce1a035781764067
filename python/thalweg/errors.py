# SPDX-License-Identifier: Apache-2.0
"""Exceptions that end a command. The command line prints each as one line and exits with its code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class ThalwegError(Exception):
    """Ends a command with a one-line message and `exit_code`; `thalweg run` uses `run_exit_code` instead."""

    exit_code: int
    run_exit_code: int

    def __reduce__(self) -> tuple[Any, ...]:
        """Subclasses have other parameters than `args`."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(of: type[ThalwegError], args: tuple[Any, ...], values: Mapping[str, Any]) -> ThalwegError:
    error = of.__new__(of, *args)
    error.__dict__.update(values)
    return error


class InputError(ThalwegError):
    """Invalid input. The message says what is wrong and what is valid; for a file it starts with `FILE:LINE: `.

    Attributes
    ----------
    what : str
        The message without file and line.
    file : str, Path or None
        The file.
    line : int or None
        The line in the file.
    """

    exit_code = 2
    run_exit_code = 125

    def __init__(self, what: str, file: str | Path | None = None, line: int | None = None) -> None:
        where = "" if file is None else f"{file}: " if line is None else f"{file}:{line}: "
        super().__init__(where + what)
        self.what = what
        self.file = file
        self.line = line


class CheckFailed(ThalwegError):
    """A check failed, e.g. routes with a cycle, or a result that differs."""

    exit_code = 1
    run_exit_code = 1


class WorkerFailed(ThalwegError):
    """A worker of an executor failed for another reason than a `ThalwegError`, e.g. its process was killed."""

    exit_code = 1
    run_exit_code = 1


class RtlDifference(CheckFailed):
    """A Verilated router or collective unit diverges from the simulator, or one of its assertions fails.

    Attributes
    ----------
    block : str
        The RTL module.
    node : int
        Its node.
    cycle : int
        Cycle of the difference.
    """

    def __init__(self, text: str, block: str, node: int, cycle: int) -> None:
        super().__init__(text)
        self.block = block
        self.node = node
        self.cycle = cycle


@dataclass(frozen=True)
class Blocked:
    """A kernel, processor or rank that waits.

    Attributes
    ----------
    who : str
        The object, such as "kernel app of rank 1" or "the processor of node 0".
    what : str
        The event, such as "to pop from rank 0, port 3, element 1 of 8".
    on : str
        The object that must act, named as in `who`; empty if unknown.
    why : str
        Additional explanation, or empty.
    since_us : float
        Virtual time since which it waits, in us.
    where : str
        Source line, such as "app.cl:12"; empty if there is none.
    """

    who: str  #: who waits: "kernel app of rank 1", "the processor of node 0", "rank 2 of communicator 0"
    what: str  #: what it waits for: "to pop from rank 0, port 3, element 1 of 8", "for 5 at 64 of its memory"
    on: str  #: whom it waits for, named as in `who`; empty if unknown
    why: str  #: additional explanation, or empty
    since_us: float
    where: str  #: source line that waits, e.g. "app.cl:12"; empty if there is none


class FabricStopped(ThalwegError):
    """The simulation cannot proceed: a deadlock, or a rank that died or never connected.

    Attributes
    ----------
    blocked : list of Blocked
        The kernels, processors or ranks that wait.
    """

    exit_code = 3
    run_exit_code = 124

    def __init__(self, text: str, blocked: Sequence[Blocked] = ()) -> None:
        super().__init__(text)
        self.blocked = list(blocked)


def one_line(text: str) -> str:
    """Returns `text` on one line, with unprintable characters escaped."""
    joined = " ".join(text.split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in joined)
