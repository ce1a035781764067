# SPDX-License-Identifier: Apache-2.0
"""Routing tables: at each node, for each destination, the port to leave by and the route class of the next input buffer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.cluster.topology import Topology
from thalweg.route.paths import Paths, Places

Bytes = NDArray[np.uint8]

KEEP_CLASS = 0xFF  # of a table's entry: the packet stays in the class that it has
NO_ROUTE = 0xFF  # of a table's entry: the destination cannot be reached


@dataclass(frozen=True, eq=False)
class Routes:
    """Tables of shape (nodes, nodes), row node, column destination; a node's entry for itself is unused."""

    algorithm: str
    port: Bytes  # link port to leave by, or NO_ROUTE
    route_class: Bytes  # class of the buffer at the link's other end, or KEEP_CLASS
    layer: Bytes  # row source: the class that its packets start in
    classes: int  # route classes that the tables use

    @property
    def nodes(self) -> int:
        return int(self.port.shape[0])


class NoRoutes(ValueError):
    """The algorithm has no routes for this topology; the text says why and what has."""


def in_one_layer(algorithm: str, port: Bytes, route_class: Bytes | None = None, classes: int = 1) -> Routes:
    """Tables whose packets all start in class 0; None: they stay there."""
    route_class = np.zeros_like(port) if route_class is None else route_class
    return Routes(algorithm, port, route_class, np.zeros_like(port), classes)


def by_dimension(coordinates: Places, value: Callable[[int, Places, Places], Any], at_destination: int) -> Bytes:
    """(nodes, nodes): of each node and destination, the value of the first dimension in which their coordinates differ.

    `coordinates` are (nodes, dimensions); `value(dimension, position, target)` gets those of the nodes as a column and of the
    destinations as a row, and returns (nodes, nodes).
    """
    nodes, dimensions = coordinates.shape
    table = np.full((nodes, nodes), at_destination, np.uint8)
    undecided = ~np.eye(nodes, dtype=bool)
    for dimension in range(dimensions):
        position, target = coordinates[:, dimension, None], coordinates[None, :, dimension]
        turn = undecided & (position != target)
        table[turn] = np.broadcast_to(value(dimension, position, target), table.shape)[turn]
        undecided &= ~turn
    return table


def towards_neighbours(topology: Topology, port: Bytes, paths: Paths) -> Bytes:
    """The tables' ports, but where several links lead to the next node, that over which packets for that node itself go."""
    here = np.arange(topology.nodes)[:, None]
    direct = port[here, paths.next]
    leads = (direct < topology.link_ports) & (
        topology.peer[here, np.minimum(direct, topology.link_ports - 1)] == paths.next
    )
    return np.where(leads, direct, port)


def require_connected(topology: Topology) -> None:
    """Raises NoRoutes where a node cannot be reached."""
    if topology.unreachable is not None:
        a, b = topology.unreachable
        raise NoRoutes(f"there is no way from node {a} to node {b}; every node needs a link")
