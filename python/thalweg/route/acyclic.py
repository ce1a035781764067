# SPDX-License-Identifier: Apache-2.0
"""Directed acyclic graphs: find a cycle, or add edges one by one without closing a cycle."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


def find_cycle(vertices: int, edges: NDArray[np.int64]) -> list[int] | None:
    """Returns the vertices of one cycle, in the order of its edges, or None if there is none.

    `edges` has a row (from, to) per edge. Time and memory are linear in vertices and edges.
    """
    edges = edges[np.argsort(edges[:, 0], kind="stable")]
    starts = np.searchsorted(edges[:, 0], np.arange(vertices + 1))
    incoming = np.bincount(edges[:, 1], minlength=vertices)
    ready = np.flatnonzero(incoming == 0)
    done = np.zeros(vertices, bool)
    while len(ready):
        done[ready] = True
        first, last = starts[ready], starts[ready + 1]
        counts = last - first
        rows = np.repeat(first - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts) + np.arange(counts.sum())
        reached, times = np.unique(edges[rows, 1], return_counts=True)
        incoming[reached] -= times
        ready = reached[incoming[reached] == 0]
    if done.all():
        return None
    # every remaining vertex has a remaining predecessor, so a backward walk must repeat a vertex
    inside = ~done[edges[:, 0]] & ~done[edges[:, 1]]
    before = dict(zip(edges[inside, 1].tolist(), edges[inside, 0].tolist(), strict=True))
    vertex = int(np.flatnonzero(~done)[0])
    walk: dict[int, int] = {}
    while vertex not in walk:
        walk[vertex] = len(walk)
        vertex = before[vertex]
    return list(walk)[walk[vertex] :][::-1]


class AcyclicGraph:
    """A graph that rejects edges that would close a cycle (dynamic topological order of Pearce and Kelly, 2006)."""

    def __init__(self, vertices: int, edges: Iterable[tuple[int, int]] = ()) -> None:
        """`edges` must not form a cycle."""
        self._after: list[list[int]] = [[] for _ in range(vertices)]
        self._before: list[list[int]] = [[] for _ in range(vertices)]
        for tail, head in edges:
            self._after[tail].append(head)
            self._before[head].append(tail)
        incoming = [len(before) for before in self._before]
        order = [vertex for vertex in range(vertices) if not incoming[vertex]]
        for vertex in order:  # grows during iteration
            for head in self._after[vertex]:
                incoming[head] -= 1
                if not incoming[head]:
                    order.append(head)
        self._place = [0] * vertices
        for place, vertex in enumerate(order):
            self._place[vertex] = place

    def add(self, tail: int, head: int) -> bool:
        """Adds an edge and returns True, or returns False if it would close a cycle."""
        place = self._place
        low, high = place[head], place[tail]
        if tail == head:
            return False
        if low < high:
            ahead = self._reach(head, self._after, lambda at: at <= high)
            if tail in ahead:
                return False
            behind = self._reach(tail, self._before, lambda at: at >= low)
            moved = sorted(behind, key=place.__getitem__) + sorted(ahead, key=place.__getitem__)
            for vertex, at in zip(moved, sorted(place[vertex] for vertex in moved), strict=True):
                place[vertex] = at
        self._after[tail].append(head)
        self._before[head].append(tail)
        return True

    def _reach(self, start: int, edges: list[list[int]], inside) -> set[int]:  # type: ignore[no-untyped-def]
        place = self._place
        found, pending = {start}, [start]
        while pending:
            for vertex in edges[pending.pop()]:
                if vertex not in found and inside(place[vertex]):
                    found.add(vertex)
                    pending.append(vertex)
        return found
