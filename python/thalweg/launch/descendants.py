# SPDX-License-Identifier: Apache-2.0
"""The processes that this one has started, and those that these have started."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_changing = threading.Lock()
_adopters = 0


@contextmanager
def adopting() -> Iterator[None]:
    """Meanwhile what a child of ours leaves behind when it ends becomes our child. This process then has to reap it: a program
    that uses us as a library is made no parent of what it never started."""
    _count_adopters(1)
    try:
        yield
    finally:
        _count_adopters(-1)


def _count_adopters(more: int) -> None:
    global _adopters
    with _changing:
        _adopters += more
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(_adopters > 0))


def descendants(root: int) -> list[int]:
    """The living processes below a process, each after the one that started it."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                # The command's name, in parentheses, may hold anything.
                state, parent, *_ = (entry / "stat").read_text().rpartition(")")[2].split()
                if state not in "ZX":
                    children.setdefault(int(parent), []).append(int(entry.name))
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found
