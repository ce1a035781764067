# SPDX-License-Identifier: Apache-2.0
"""The processes that this one has started, and those that these have started."""

from __future__ import annotations

import contextlib
from pathlib import Path


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
