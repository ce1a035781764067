# SPDX-License-Identifier: Apache-2.0
"""Random windows for the hubs of one or two rings, and the routes of writes through them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from thalweg.errors import InputError
from thalweg.systems.peach2.cluster import Cluster
from thalweg.systems.peach2.hubs import Hubs
from thalweg.systems.peach2.routes import ALL_PAGES, EAST, HUB_PAGES, NODE_PAGES, NORTH, SOUTH, WEST, Tables, Window

PAGE = 4096
ENGINE = 5  #: the port behind BUS
_MEMORY_PAGES = 1 << 21
_NUMBER = 0x7800000
"""Mask that selects the node number."""


@dataclass(frozen=True)
class Rings:
    """The cables of `count` rings of `size` nodes."""

    count: int
    size: int

    @classmethod
    def of(cls, cluster: Cluster) -> Rings:
        return cls(cluster.topology.nodes // cluster.ring, cluster.ring)

    @property
    def nodes(self) -> int:
        return self.count * self.size

    def behind(self, node: int, port: int) -> tuple[int, int]:
        """Returns the node at the other end of a port's cable, and its port."""
        if port == SOUTH:
            return (node + self.size) % self.nodes, SOUTH
        first = node // self.size * self.size
        step, other = (1, WEST) if port == EAST else (-1, EAST)
        return first + (node - first + step) % self.size, other


def way(table: Sequence[Window], page: int) -> int | None:
    """Returns the port of the first window that matches a page."""
    return next((port for port, mask, lower, upper in table if lower <= page & mask <= upper), None)


def lands(rings: Rings, tables: Tables, node: int, came: int, page: int) -> bool:
    """True if a write to a page that enters a node by the port `came` arrives; otherwise it is refused or dropped on its
    path."""
    for _ in range(rings.nodes + 1):
        if page // HUB_PAGES == node * 32 + 31:
            return True
        to = way(tables[node], page)
        if to is None or to == came:
            return False
        if to == NORTH:
            return page // NODE_PAGES == node
        node, came = rings.behind(node, to)
    return False


def random_tables(draw: random.Random, rings: Rings, most: int, pages: range) -> Tables:
    """Returns random tables of all hubs.

    In each ring one cable is unused, so that routes form no cycle; windows are in random order. Some windows before
    them divert a few of `pages` in memories other than a processor's. Windows after them match every page, without
    effect.
    """
    cuts = [draw.randrange(rings.size) for _ in range(rings.count)]
    ports = (NORTH, EAST, WEST, SOUTH)[: 4 if rings.count == 2 else 3]
    tables = []
    for node in range(rings.nodes):
        ring = node // rings.size
        base = _ways(draw, rings, node, cuts[ring], most - 4)
        first = [elsewhere(draw, rings, ports, pages) for _ in range(draw.choice((0, 0, 1, 2)))][: most - len(base)]
        last = [(draw.choice(ports), draw.choice((ALL_PAGES, 0)), 0, rings.nodes * NODE_PAGES - 1)] * draw.randrange(3)
        draw.shuffle(base)
        tables.append((first + base + last)[:most])
    return tables


def _ways(draw: random.Random, rings: Rings, node: int, cut: int, most: int) -> list[Window]:
    first = node // rings.size * rings.size
    place = [(cut + 1 + at) % rings.size for at in range(rings.size)].index
    windows: list[Window] = []
    for other in range(first, first + rings.size):
        to = NORTH if other == node else EAST if place(other - first) > place(node - first) else WEST
        lower = other * NODE_PAGES
        upper = lower + NODE_PAGES - 1
        match draw.randrange(4):
            case 0:
                windows.append((to, _NUMBER, lower, lower))
            case 1 if most >= rings.size * 2 + 1:
                middle = lower + draw.randrange(1, NODE_PAGES)
                windows += [(to, ALL_PAGES, lower, middle - 1), (to, ALL_PAGES, middle, upper)]
            case _:
                windows.append((to, ALL_PAGES, lower, upper))
    if rings.count == 2:
        other = (rings.size - first) * NODE_PAGES
        windows.append((SOUTH, ALL_PAGES, other, other + rings.size * NODE_PAGES - 1))
    return windows


def elsewhere(draw: random.Random, rings: Rings, ports: Sequence[int], pages: range) -> Window:
    """Returns a window that diverts a few pages of a memory, not a processor's, to a random port."""
    memory = draw.choice((_MEMORY_PAGES, 2 * _MEMORY_PAGES, NODE_PAGES - HUB_PAGES))
    lower = draw.randrange(rings.nodes) * NODE_PAGES + memory + draw.choice(pages)
    return draw.choice(ports), ALL_PAGES, lower, lower + draw.choice((0, 0, 1, 3))


def few(window: Window) -> bool:
    """True for windows made by `elsewhere`."""
    _, mask, lower, upper = window
    return mask == ALL_PAGES and upper - lower < 4


def load_random(draw: random.Random, hubs: Hubs, pages: range) -> Tables | None:
    """Loads random tables; skips tables with loops or possible deadlocks. Returns None if hubs have too few windows."""
    rings = Rings.of(hubs.cluster)
    if rings.size + rings.count - 1 > hubs.cluster.node.windows:
        return None
    while True:
        tables = random_tables(draw, rings, hubs.cluster.node.windows, pages)
        try:
            hubs.load_windows(tables)
            return tables
        except InputError:
            continue
