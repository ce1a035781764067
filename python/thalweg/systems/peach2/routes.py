# SPDX-License-Identifier: Apache-2.0
"""Address windows of PEACH2's hubs: tables that connect all nodes, and the proof of given tables with thalweg.route.proof.

A ring whose links wait for each other's buffers is a wait-for cycle, and writes have no hop count. Packets therefore
first go to the other ring, if there is one, then along their ring, but never through its node 0, so that their
dependencies are acyclic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.cluster.topology import Topology
from thalweg.errors import InputError
from thalweg.route import proof
from thalweg.route.paths import Paths, Places
from thalweg.route.proof import Proof
from thalweg.route.routes import NO_ROUTE, Routes, by_dimension, in_one_layer

Window = tuple[int, int, int, int]
"""Port, mask, lower and upper bound, in pages of 4 KByte. A packet leaves by the port of the first window that matches its page."""
Tables = list[list[Window]]
"""The windows of each hub."""

NORTH, EAST, WEST, SOUTH, BUS = range(5)
LINKS = ("north", "east", "west", "south")
"""Numbered as in tw_peach2_pkg; the last three are a cluster's links, in this order."""
PORTS = (*LINKS, "bus")
_OWN = (NORTH, BUS)  #: ports that lead to the node itself
PAGE_BITS = 27  #: page number within an address of 39 bits
ALL_PAGES = (1 << PAGE_BITS) - 1
NODE_PAGES = 1 << 23  #: 32 GByte
HUB_PAGES = 1 << 18  #: the last GByte of a node is its hub's


def routes(topology: Topology) -> Routes:
    """Returns the link ports (0 east, 1 west, 2 south) by which packets leave a node, by destination."""
    ring = topology.size[0]
    number = np.arange(topology.nodes, dtype=np.int32)

    def port(dimension: int, position: Places, target: Places) -> Any:
        if dimension == 0:
            return SOUTH - EAST
        from_first, to_first = 2 * target <= ring, ring - position < position
        east = np.where(position == 0, from_first, np.where(target == 0, to_first, target > position))
        return np.where(east, 0, WEST - EAST)

    coordinates = np.stack([number // ring, number % ring], axis=1)
    return in_one_layer("rings", by_dimension(coordinates, port, NO_ROUTE))


def windows(topology: Topology) -> Tables:
    """Returns windows for these routes: the node's own, the other ring's, then one per run of nodes of its ring behind one
    port."""
    ring, port = topology.size[0], routes(topology).port + EAST
    tables = []
    for node in range(topology.nodes):
        first = node - node % ring
        table = [_of_nodes(NORTH, node, node)]
        if topology.nodes > ring:
            table.append(_of_nodes(SOUTH, ring - first, 2 * ring - first - 1))
        # node 0 of the ring, which no packet passes, has its own window
        for run in (range(first, min(first + 1, node)), range(first + 1, node), range(node + 1, first + ring)):
            for to, nodes in groupby(run, key=lambda other, node=node: int(port[node, other])):  # type: ignore[misc]
                behind = list(nodes)
                table.append(_of_nodes(to, behind[0], behind[-1]))
        tables.append(table)
    return tables


def _of_nodes(to: int, first: int, last: int) -> Window:
    return to, ALL_PAGES, first * NODE_PAGES, (last + 1) * NODE_PAGES - 1


def register_of(window: Window) -> tuple[int, int]:
    """Returns the value of a window's register, as in sim/peach2/control.hpp."""
    to, mask, lower, upper = window
    return lower | upper << 32, mask | to << 32 | 1 << 40


def check_windows(topology: Topology, tables: Tables) -> None:
    """Raises InputError if a window does not fit into its register or leads nowhere, BadRoutes if packets loop or
    deadlock.

    A packet without matching window is refused, and so does not wait.
    """
    for node, table in enumerate(tables):
        for index, window in enumerate(table):
            if fault := _fault(topology, node, window):
                raise InputError(f"window {index} of hub {node}: {fault}")
    # a place is a hub and the port by which a packet enters; 0 means the hub's own sources
    nodes, link_ports = topology.peer.shape
    ports = 1 + link_ports
    hub, came = np.divmod(np.arange(nodes * ports)[:, None], ports)
    pages = np.array(sorted(_first_pages(tables)), np.int64)
    to = np.stack([_ports_of(node, table, pages) for node, table in enumerate(tables)])[hub[:, 0]]
    ends = np.isin(to, _OWN) | (to > BUS) | (to == came)
    link = np.where(ends, 0, to - EAST)
    following = topology.peer[hub, link] * ports + topology.peer_port[hub, link] + EAST
    paths = Paths(np.where(ends, np.arange(nodes * ports)[:, None], following))

    def place(number: int) -> str:
        return f"hub {number // ports}" + (f" from {PORTS[number % ports]}" if number % ports else "")

    proof.check_arrival(paths, place, lambda page: f"page {pages[page]:#x}", lambda *_: "")
    edges = proof.dependencies(paths, hub * link_ports + link, ~ends)
    name = [f"{PORTS[EAST + port]} of hub {node}" for node in range(nodes) for port in range(link_ports)]
    proof.check_acyclic(len(name), edges, "links", name.__getitem__)


def _fault(topology: Topology, node: int, window: Window) -> str:
    """Returns the error of a window, or an empty text."""
    to, mask, lower, upper = window
    if not NORTH <= to <= BUS:
        return f"port is {to}; it must be one of {', '.join(f'{name} {port}' for port, name in enumerate(PORTS))}"
    link = to - EAST
    if to not in _OWN and (link >= topology.link_ports or topology.peer[node, link] < 0):
        return f"it leads to port {PORTS[to]} of hub {node}, which has no link"
    for what, value in (("mask", mask), ("lower bound", lower), ("upper bound", upper)):
        if not 0 <= value <= ALL_PAGES:
            return f"its {what} is {value}; it must fit into {PAGE_BITS} bits, up to {ALL_PAGES}"
    grain = (ALL_PAGES & ~mask) + 1
    if grain & (grain - 1):
        return "its mask must consist of leading ones, so that its pages form a range"
    if -(-lower // grain) * grain > upper:
        return f"it is empty: its lower bound is {lower}, its upper bound {upper}"
    return ""


def _own(node: int) -> int:
    """The first page of a hub's own memory and registers."""
    return (node + 1) * NODE_PAGES - HUB_PAGES


def _first_pages(tables: Tables) -> set[int]:
    """Returns the first page of each range that all hubs treat alike."""

    def firsts() -> Iterator[int]:
        yield 0
        for node, table in enumerate(tables):
            yield _own(node)
            yield _own(node) + HUB_PAGES
            for _, mask, lower, upper in table:
                grain = (ALL_PAGES & ~mask) + 1
                yield -(-lower // grain) * grain
                yield (upper // grain + 1) * grain

    return {page for page in firsts() if page <= ALL_PAGES}


def _ports_of(node: int, table: Sequence[Window], pages: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the output port of each page at a hub; NO_ROUTE where it is refused."""
    to = np.full(pages.shape, NO_ROUTE, np.int64)
    for port, mask, lower, upper in reversed(table):
        to[(pages & mask >= lower) & (pages & mask <= upper)] = port
    to[(pages >= _own(node)) & (pages < _own(node) + HUB_PAGES)] = BUS
    return to


def prove(topology: Topology) -> Proof:
    """Proves a cluster's own routes, and the windows that implement them. Raises BadRoutes."""
    check_windows(topology, windows(topology))
    return proof.prove(topology, routes(topology), [[1]], 1)
