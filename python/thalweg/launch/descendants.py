# SPDX-License-Identifier: Apache-2.0
"""The descendants of this process."""

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
    """While the context lasts, makes this process the parent of orphaned descendants, so that it must reap them.

    Limited to the context, because a program that uses Thalweg as a library does not expect unknown children.
    """
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
    """Returns the living descendants of a process, each after its parent."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                # the command's name, in parentheses, may contain any character
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
