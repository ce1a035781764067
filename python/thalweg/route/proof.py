# SPDX-License-Identifier: Apache-2.0
"""Proof that routing tables deliver all packets and cannot deadlock. Every table is proved before it is used.

1. Following the tables, every packet arrives, over existing links, without visiting a place twice. 2. The channel
dependency graph is acyclic (Dally and Seitz, 1987). It has an edge wherever a packet may hold one channel and wait for
the next, over all sources, destinations and classes.

`prove` is for tables of output ports, whose channels are the virtual channels of links. Systems with several tables per
node, or with other resources than links, define their places and channels (`Paths`, `dependencies`) and use the same
checks. Units that remove packets from the network, such as the slots of collectives, are proved by their system.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.cluster.topology import Topology
from thalweg.errors import CheckFailed
from thalweg.route.acyclic import find_cycle
from thalweg.route.grid import GridRoutes
from thalweg.route.paths import Paths
from thalweg.route.routes import KEEP_CLASS, NO_ROUTE, Routes

Edges = NDArray[np.int64]


@dataclass(frozen=True)
class Buffer:
    """The input buffer of one virtual channel at the end of a link. `node` and `port` are those at the start of the link."""

    node: int
    port: int
    to: int
    vc: int

    def __str__(self) -> str:
        return f"node {self.node} port {self.port} to node {self.to} vc {self.vc}"


class BadRoutes(CheckFailed):
    """Routing tables that failed the proof.

    `cycle` has the channels of a wait-for cycle, `pair` a (place, destination) without a route.
    """

    def __init__(self, what: str, cycle: Sequence[Any] = (), pair: tuple[int, int] | None = None) -> None:
        super().__init__(what)
        self.cycle = list(cycle)
        self.pair = pair


@dataclass(frozen=True)
class Proof:
    """Figures of proved tables. Path lengths are in links, over ordered pairs of different nodes."""

    algorithm: str
    nodes: int
    links: int
    channels: int  # directed links x virtual channels, and FIFOs inside nodes
    route_classes: int
    dependencies: int  # pairs of channels, of which one may wait for the other
    cycles: int
    longest_path: int
    average_path: float
    uniform_load: float  # flits or packets per cycle on the busiest link if every node sends one per cycle, uniformly to all others

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def prove(
    topology: Topology,
    routes: Routes,
    vc_mask: Sequence[Sequence[int]],
    virtual_channels: int,
    paths: Paths | None = None,
) -> Proof:
    """Proves tables of output ports, and returns their figures.

    `vc_mask[message class][route class]` is a bit mask of allowed virtual channels. `paths` are the tables' `ways`, if
    known. Raises BadRoutes.
    """
    check_masks(vc_mask, routes.classes, virtual_channels)
    paths = paths or ways(topology, routes)
    channel = channels(topology, routes.port)
    others = ~np.eye(topology.nodes, dtype=bool)
    edges = expand(dependencies(paths, channel, others, routes), routes.classes, vc_mask, virtual_channels)
    check_buffers(topology, edges, virtual_channels)
    return figures(
        topology,
        routes,
        virtual_channels,
        dependencies=len(edges),
        longest_path=paths.longest,
        average_path=float(paths.steps[others].mean()),
        load=int(loads(paths, channel, others).max()),
    )


def figures(
    topology: Topology,
    routes: Routes | GridRoutes,
    virtual_channels: int,
    *,
    dependencies: int,
    longest_path: int,
    average_path: float,
    load: int,
) -> Proof:
    """Returns the figures of proved routes; `load` is the number of routes over the busiest link."""
    return Proof(
        algorithm=routes.algorithm,
        nodes=topology.nodes,
        links=len(topology.links),
        channels=2 * len(topology.links) * virtual_channels,
        route_classes=routes.classes,
        dependencies=dependencies,
        cycles=0,
        longest_path=longest_path,
        average_path=average_path,
        uniform_load=load / (topology.nodes - 1),
    )


def ways(topology: Topology, routes: Routes) -> Paths:
    """Returns the paths of tables of output ports. Raises BadRoutes if a node is unreachable from another."""
    paths = Paths.by_ports(routes.port, topology.peer)

    def why(node: int, destination: int) -> str:
        port = int(routes.port[node, destination])
        return f"node {node} " + (
            "has no route to it" if port == NO_ROUTE else f"sends to port {port}, which has no link"
        )

    check_arrival(paths, "node {}".format, "node {}".format, why)
    return paths


def channels(topology: Topology, port: NDArray[np.uint8]) -> Edges:
    """Returns, as an array (nodes, nodes), the directed link by which packets leave a node, by destination.

    A directed link has the number node x link ports + port.
    """
    return np.arange(topology.nodes)[:, None] * topology.link_ports + port.astype(np.int64)


def check_arrival(
    paths: Paths, place: Callable[[int], str], destination: Callable[[int], str], why: Callable[[int, int], str]
) -> None:
    """Raises BadRoutes if a packet does not reach its destination from some place.

    `place` and `destination` return their names; `why(place, destination)` returns why a packet cannot proceed.
    """
    lost = np.argwhere(paths.steps < 0)
    if not len(lost):
        return
    dead_ends = np.argwhere(paths.next < 0)
    at, to = (int(x) for x in (dead_ends if len(dead_ends) else lost)[0])
    reason = why(at, to) if len(dead_ends) else f"packets loop: {', '.join(map(place, paths.follow(at, to)))}"
    raise BadRoutes(f"{destination(to)} cannot be reached from {place(at)}: {reason}", pair=(at, to))


def dependencies(paths: Paths, channel: Edges, sources: NDArray[np.bool_], routes: Routes | None = None) -> Edges:
    """Returns pairs of channels, of which the first may wait for the second, as an array (edges, 2).

    Channels are numbered channel x classes + route class. `channel[place, destination]` is occupied by the step from a
    place; packets start at `sources`. `routes` has the classes of packets; None means one class.
    """
    classes = routes.classes if routes else 1
    nothing = np.zeros(paths.next.size, np.uint8)
    layer = routes.layer.ravel() if routes else nothing
    route_class = routes.route_class.ravel() if routes else nothing
    keeps = route_class == KEEP_CLASS
    fixed = np.where(keeps, 0, route_class).astype(np.int64)
    # classes, as bits, of packets to a destination that leave a place, from the farthest places inwards
    leaving = np.where(sources.ravel(), 1 << np.where(keeps, layer, fixed).astype(np.int64), 0)
    for pairs, following in paths.farthest_first():
        changes = (leaving[pairs] != 0) & (keeps[following] | (leaving[following] == 0))
        pairs, following = pairs[changes], following[changes]
        np.bitwise_or.at(leaving, following, np.where(keeps[following], leaving[pairs], 1 << fixed[following]))
    number = channel.ravel()
    edges = []
    waits = paths.steps.ravel() > 1
    for route_class_held in range(classes):
        at = np.flatnonzero(waits & (leaving >> route_class_held & 1 == 1))
        then = paths.following(at)
        requested = np.where(keeps[then], route_class_held, fixed[then])
        edges.append(np.stack([number[at] * classes + route_class_held, number[then] * classes + requested], axis=1))
    return distinct(np.concatenate(edges))


def distinct(edges: Edges) -> Edges:
    """Returns the edges sorted, without duplicates."""
    vertices = int(edges.max(initial=0)) + 1
    return np.stack(np.divmod(np.unique(edges[:, 0] * vertices + edges[:, 1]), vertices), axis=1)


def check_buffers(topology: Topology, edges: Edges, virtual_channels: int) -> None:
    """Raises BadRoutes if buffers, numbered link x virtual channels + vc, form a wait-for cycle."""

    def buffer(vertex: int) -> Buffer:
        link, vc = divmod(vertex, virtual_channels)
        node, port = divmod(link, topology.link_ports)
        return Buffer(node, port, int(topology.peer[node, port]), vc)

    check_acyclic(topology.nodes * topology.link_ports * virtual_channels, edges, "buffers", buffer)


def check_acyclic(vertices: int, edges: Edges, what: str, name: Callable[[int], Any]) -> None:
    """Raises BadRoutes with one cycle of the graph, if there is one. `name` maps a vertex to its description."""
    if cycle := find_cycle(vertices, edges):
        names = [name(vertex) for vertex in cycle]
        chain = "; ".join(map(str, names))
        raise BadRoutes(f"a wait-for cycle of {len(names)} {what}: {chain}", names)


def loads(paths: Paths, channel: Edges, sources: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Returns the number of paths from the sources that occupy each channel, by channel number."""
    onward = paths.steps > 0
    weights = paths.through(sources)[onward]
    return np.bincount(channel[onward], weights=weights).astype(np.int64)


def check_masks(vc_mask: Sequence[Sequence[int]], classes: int, virtual_channels: int) -> None:
    for message, masks in enumerate(vc_mask):
        for route_class in range(classes):
            mask = masks[route_class] if route_class < len(masks) else 0
            if not 0 < mask < 1 << virtual_channels:
                raise BadRoutes(
                    f"message class {message}, route class {route_class} has no virtual channel among the router's "
                    f"{virtual_channels}; increase router.virtual_channels"
                )


def expand(edges: Edges, classes: int, vc_mask: Sequence[Sequence[int]], virtual_channels: int) -> Edges:
    """Returns the edges between pairs (link, virtual channel), numbered link x virtual channels + vc, of all message
    classes."""
    link, route_class = np.divmod(edges, classes)
    expanded = [np.empty((0, 2), np.int64)]
    for masks in vc_mask:
        mask = np.array(masks[:classes], np.int64)[route_class]
        for held in range(virtual_channels):
            for requested in range(virtual_channels):
                rows = (mask[:, 0] >> held & 1 == 1) & (mask[:, 1] >> requested & 1 == 1)
                expanded.append(link[rows] * virtual_channels + [held, requested])
    return distinct(np.concatenate(expanded))
