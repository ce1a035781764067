# SPDX-License-Identifier: Apache-2.0
"""Calls that start when other calls have ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

_Call = TypeVar("_Call")
_BEFORE = " before it failed: "


def behind(operation: str, why: str) -> str:
    """Returns why a call failed after the failure of a predecessor; in a chain, the reason of the first one."""
    return why if _BEFORE in why else f"the {operation}{_BEFORE}{why}"


class Chains(Generic[_Call]):
    """Calls that wait for others, in order of creation. Each costs time in proportion to its number of predecessors."""

    def __init__(self) -> None:
        self._open: dict[_Call, int] = {}  # number of predecessors that have not ended
        self._behind: dict[_Call, list[_Call]] = {}
        self._ready: list[_Call] = []
        self._order: dict[_Call, int] = {}
        self._made = 0

    def hold(self, call: _Call, before: Iterable[_Call]) -> bool:
        """Holds a call until its predecessors `before` have ended; False if there are none."""
        open_ = set(before)
        if not open_:
            return False
        self._made += 1
        self._open[call], self._order[call] = len(open_), self._made
        for each in open_:
            self._behind.setdefault(each, []).append(call)
        return True

    def end(self, call: _Call) -> None:
        for behind in self._behind.pop(call, ()):
            self._open[behind] -= 1
            if not self._open[behind]:
                self._ready.append(behind)

    def take(self) -> list[_Call]:
        """Removes and returns the calls whose predecessors have all ended, in program order."""
        ready, self._ready = sorted(self._ready, key=self._order.__getitem__), []
        for call in ready:
            del self._open[call], self._order[call]
        return ready

    def __iter__(self) -> Iterator[_Call]:
        return iter(self._open)

    def __len__(self) -> int:
        return len(self._open)
