# SPDX-License-Identifier: Apache-2.0
"""Routing tables: for each node and destination, the output port and the route class of the next input buffer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.cluster.topology import Topology
from thalweg.route.paths import Paths, Places

Bytes = NDArray[np.uint8]

KEEP_CLASS = 0xFF  # table entry: the packet keeps its class
NO_ROUTE = 0xFF  # table entry: the destination is unreachable


@dataclass(frozen=True, eq=False)
class Routes:
    """Tables of shape (nodes, nodes), row node, column destination. The diagonal is unused."""

    algorithm: str
    port: Bytes  # output port, or NO_ROUTE
    route_class: Bytes  # class of the input buffer at the link's other end, or KEEP_CLASS
    layer: Bytes  # initial class, by source and destination
    classes: int  # number of route classes in use

    @property
    def nodes(self) -> int:
        return int(self.port.shape[0])

    @property
    def tables(self) -> Routes:
        return self


class NoRoutes(ValueError):
    """The algorithm cannot route this topology; the message says why and which algorithm can."""


def in_one_layer(algorithm: str, port: Bytes, route_class: Bytes | None = None, classes: int = 1) -> Routes:
    """Returns tables in which all packets start in class 0. Without `route_class` they keep it."""
    route_class = np.zeros_like(port) if route_class is None else route_class
    return Routes(algorithm, port, route_class, np.zeros_like(port), classes)


def by_dimension(coordinates: Places, value: Callable[[int, Places, Places], Any], at_destination: int) -> Bytes:
    """Returns, as an array (nodes, nodes), the value of the first dimension in which node and destination differ.

    `coordinates` has the shape (nodes, dimensions). `value(dimension, position, target)` gets the coordinates of nodes
    as a column and of destinations as a row, and returns an array (nodes, nodes).
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
    """Returns the tables' ports; where several links lead to the next node, the one used for packets to that node itself."""
    here = np.arange(topology.nodes)[:, None]
    direct = port[here, paths.next]
    leads = (direct < topology.link_ports) & (
        topology.peer[here, np.minimum(direct, topology.link_ports - 1)] == paths.next
    )
    return np.where(leads, direct, port)


def require_connected(topology: Topology) -> None:
    """Raises NoRoutes if a node is unreachable."""
    if topology.unreachable is not None:
        a, b = topology.unreachable
        raise NoRoutes(f"there is no path from node {a} to node {b}; connect all nodes")
