# SPDX-License-Identifier: Apache-2.0
"""The proof that routing tables deliver and cannot deadlock; every table goes through it before it is used.

1. Following the tables, every node reaches every other one, over links that exist, without passing a node twice.
2. A packet that holds one buffer and waits for the next is an edge between (link, virtual channel) pairs; the graph of all
   such edges, over all pairs of nodes, message classes and virtual channels, has no cycle (Dally and Seitz, 1987).
3. What arrives always leaves: message classes and route classes have virtual channels of their own, so a plain message never
   waits for a collective's; and a collective packet enters the network only with a credit for the slot at its end, or for
   the relay's buffer at the next node, of which there is one for each link and route class. Of links that lead to the same
   node the relay's packets take one, that of the packets for that node; with these taken for one, 2 holds as well.
4. The slots do not wait in a circle either: over the tree of the communicator of all hosts (any root), through its top as
   an allreduce goes, and over the stages of an exchange, the graph of which slot waits for which has no cycle.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thalweg.cluster.topology import Topology
from thalweg.errors import CheckFailed
from thalweg.route.acyclic import find_cycle
from thalweg.route.paths import Paths
from thalweg.route.routing import KEEP_CLASS, NO_ROUTE, Routes, towards_neighbours

if TYPE_CHECKING:
    from thalweg._sim import Group

Edges = NDArray[np.int64]
Slots = dict[tuple[int, ...], set[tuple[int, ...]]]
"""What each slot may wait for; a slot is a directed edge, (from, to) of the communicator, and the stage of its exchange."""


@dataclass(frozen=True)
class Buffer:
    """The input buffer at the end of a link, of one virtual channel: node and port are those that the link leaves from."""

    node: int
    port: int
    to: int
    vc: int

    def __str__(self) -> str:
        return f"node {self.node} port {self.port} to node {self.to} vc {self.vc}"


class BadRoutes(CheckFailed):
    """Tables that failed; `cycle` has the buffers that wait in a circle, `pair` the (source, destination) without a way."""

    def __init__(self, what: str, cycle: list[Buffer] | None = None, pair: tuple[int, int] | None = None) -> None:
        super().__init__(what)
        self.cycle = cycle or []
        self.pair = pair


@dataclass(frozen=True)
class Proof:
    """Figures of tables that passed."""

    algorithm: str
    nodes: int
    links: int
    buffers: int  # directed links x virtual channels
    route_classes: int
    dependencies: int  # edges between buffers, over all pairs, message classes and virtual channels
    cycles: int
    longest_path: int  # links
    average_path: float  # links, over ordered pairs of different nodes
    uniform_load: float  # flits a cycle on the busiest link when every node sends one a cycle, evenly to all others
    slots: int  # directed edges of trees and exchanges of the communicator of all nodes; 0 without collectives
    slot_dependencies: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def prove(
    topology: Topology,
    routes: Routes,
    vc_mask: list[list[int]],
    virtual_channels: int,
    slot_packets: int | None,
    waits: Slots | None = None,
) -> Proof:
    """Checks tables, and returns their figures. `slot_packets` is None for a fabric without collectives.

    `waits` has the slots of the communicator of all hosts; None: its tree and exchange follow the ranks.

    `vc_mask[message class][route class]` has the virtual channels, as bits, that a packet may take. Raises BadRoutes.
    """
    _check_masks(vc_mask, routes.classes, virtual_channels, exclusive=slot_packets is not None)
    paths = _check_ways(topology, routes)
    dependencies = _expand(_class_dependencies(topology, routes, paths), routes.classes, vc_mask, virtual_channels)
    _check_acyclic(topology, dependencies, virtual_channels)
    if slot_packets is not None:
        of_relay = replace(routes, port=towards_neighbours(topology, routes.port, paths))
        _check_acyclic(topology, _class_dependencies(topology, of_relay, paths), routes.classes)
    slots = slot_dependencies = 0
    if slot_packets is not None:
        if slot_packets < 1:
            raise BadRoutes("slots have room for no packet; slot_packets is at least 1")
        slots, slot_dependencies = check_slots(slot_graph(topology.hosts) if waits is None else waits)
    pairs = topology.nodes * (topology.nodes - 1)
    return Proof(
        algorithm=routes.algorithm,
        nodes=topology.nodes,
        links=len(topology.links),
        buffers=2 * len(topology.links) * virtual_channels,
        route_classes=routes.classes,
        dependencies=len(dependencies),
        cycles=0,
        longest_path=paths.longest,
        average_path=float(paths.hops.sum() / pairs),
        uniform_load=float(channel_paths(topology, routes, paths).max() / (topology.nodes - 1)),
        slots=slots,
        slot_dependencies=slot_dependencies,
    )


def channel_paths(topology: Topology, routes: Routes, paths: Paths) -> NDArray[np.int64]:
    """(nodes, link ports): how many of the paths between all ordered pairs leave by each port."""
    others = ~np.eye(topology.nodes, dtype=bool)
    channel = np.arange(topology.nodes)[:, None] * topology.link_ports + routes.port
    count = np.bincount(
        channel[others], weights=paths.through(others)[others], minlength=topology.nodes * topology.link_ports
    )
    return count.astype(np.int64).reshape(topology.nodes, topology.link_ports)


def _check_masks(vc_mask: list[list[int]], classes: int, virtual_channels: int, exclusive: bool) -> None:
    for message, masks in enumerate(vc_mask):
        for route_class in range(classes):
            mask = masks[route_class] if route_class < len(masks) else 0
            if not 0 < mask < 1 << virtual_channels:
                raise BadRoutes(
                    f"message class {message}, route class {route_class} has no virtual channels of the router's "
                    f"{virtual_channels}; give the router more"
                )
    if exclusive:
        plain, collective = (int(np.bitwise_or.reduce(masks[:classes])) for masks in vc_mask)
        if plain & collective:
            raise BadRoutes(f"plain messages and collectives share virtual channels (mask {plain & collective:#x})")


def _check_ways(topology: Topology, routes: Routes) -> Paths:
    paths = Paths(routes.port, topology.peer)
    lost = np.argwhere(paths.hops < 0)
    if not len(lost):
        return paths
    dead_ends = np.argwhere(paths.next < 0)
    node, destination = (int(x) for x in (dead_ends if len(dead_ends) else lost)[0])
    port = int(routes.port[node, destination])
    if not len(dead_ends):
        way = " ".join(map(str, paths.follow(node, destination)))
        why = f"packets go round in a loop: nodes {way}"
    elif port == NO_ROUTE:
        why = f"node {node} has no route to it"
    else:
        why = f"node {node} sends to port {port}, which has no link"
    raise BadRoutes(f"node {destination} cannot be reached from node {node}: {why}", pair=(node, destination))


def _class_dependencies(topology: Topology, routes: Routes, paths: Paths) -> Edges:
    """Edges between (link, route class) pairs, numbered link x classes + class; a link is node x link ports + port."""
    nodes, classes = topology.nodes, routes.classes
    following = paths.next.astype(np.int64).ravel()
    follow = following * nodes + np.tile(np.arange(nodes), nodes)
    keeps = (routes.route_class == KEEP_CLASS).ravel()
    fixed = np.where(keeps, 0, routes.route_class.ravel()).astype(np.int64)
    # The classes, as bits, that packets of a destination have when they leave a node, from the farthest nodes inwards.
    leaving = np.where(keeps, 1 << routes.layer.ravel().astype(np.int64), 1 << fixed)
    for pairs in reversed(list(paths.nearest_first())):
        passing = pairs[keeps[follow[pairs]]]
        np.bitwise_or.at(leaving, follow[passing], leaving[passing])
    link = (np.repeat(np.arange(nodes), nodes) * topology.link_ports + routes.port.ravel()).astype(np.int64)
    destination = np.tile(np.arange(nodes), nodes)
    waits = np.flatnonzero((paths.hops.ravel() > 0) & (following != destination))
    edges = []
    for route_class in range(classes):
        at = waits[(leaving[waits] >> route_class) & 1 == 1]
        then = follow[at]
        next_class = np.where(keeps[then], route_class, fixed[then])
        edges.append(np.stack([link[at] * classes + route_class, link[then] * classes + next_class], axis=1))
    return _distinct(np.concatenate(edges), nodes * topology.link_ports * classes)


def _expand(edges: Edges, classes: int, vc_mask: list[list[int]], virtual_channels: int) -> Edges:
    """Edges between (link, virtual channel) pairs, numbered link x virtual channels + vc, of all message classes."""
    link, route_class = np.divmod(edges, classes)
    expanded = [np.empty((0, 2), np.int64)]
    for masks in vc_mask:
        mask = np.array(masks[:classes], np.int64)[route_class]
        for held in range(virtual_channels):
            for wanted in range(virtual_channels):
                rows = (mask[:, 0] >> held & 1 == 1) & (mask[:, 1] >> wanted & 1 == 1)
                expanded.append(link[rows] * virtual_channels + [held, wanted])
    together = np.concatenate(expanded)
    return _distinct(together, int(together.max(initial=0)) + 1)


def _distinct(edges: Edges, vertices: int) -> Edges:
    return np.stack(np.divmod(np.unique(edges[:, 0] * vertices + edges[:, 1]), vertices), axis=1)


def _check_acyclic(topology: Topology, edges: Edges, virtual_channels: int) -> None:
    cycle = find_cycle(topology.nodes * topology.link_ports * virtual_channels, edges)
    if cycle is None:
        return
    buffers = []
    for vertex in cycle:
        link, vc = divmod(vertex, virtual_channels)
        node, port = divmod(link, topology.link_ports)
        buffers.append(Buffer(node, port, int(topology.peer[node, port]), vc))
    chain = ", ".join(map(str, buffers))
    raise BadRoutes(f"a cycle of {len(buffers)} buffers, each of which waits for the next: {chain}", cycle=buffers)


def slot_graph(ranks: int) -> Slots:
    """Which slots a slot may wait for; a slot is a directed edge (from rank, to rank) of the communicator.

    The binomial tree, whatever the root, with the turn at rank 0 that an allreduce takes, and recursive doubling, whose ranks
    beyond the greatest power of two fold in first and get the result last.
    """

    def parent(rank: int) -> int:
        return rank & (rank - 1)

    neighbours: dict[int, list[int]] = {rank: [] for rank in range(ranks)}
    for rank in range(1, ranks):
        neighbours[rank].append(parent(rank))
        neighbours[parent(rank)].append(rank)
    waits: Slots = {}
    for middle, around in neighbours.items():
        for before in around:
            slots: set[tuple[int, ...]] = {(middle, after) for after in around if after != before or middle == 0}
            waits.setdefault((before, middle), set()).update(slots)

    power = 1 << (ranks.bit_length() - 1)
    stages = [1 << k for k in range(power.bit_length() - 1)]
    for rank in range(power):
        folded = rank + power if rank + power < ranks else None
        for k, bit in enumerate(stages):
            slots = {(rank, rank ^ later) for later in stages[k + 1 :]}
            slots |= {(rank, folded)} if folded is not None else set()
            waits.setdefault((rank ^ bit, rank), set()).update(slots)
        if folded is not None:
            waits.setdefault((folded, rank), set()).update((rank, rank ^ bit) for bit in stages)
            waits.setdefault((rank, folded), set())
    return waits


def group_slots(group: Group) -> Slots:
    """The same of any tree, and of an exchange in groups, which has slots of its own."""
    waits: Slots = {}
    for middle, edges in enumerate(group.tree):
        at_top = not any(leads_up for _, leads_up in edges)
        for before, _ in edges:
            waits[before, middle] = {(middle, after) for after, _ in edges if after != before or at_top}

    def slot(stage: int, source: int, target: int) -> tuple[int, ...]:
        return (source, target, stage)

    stages = max(map(len, group.exchange))
    beyond = [rank for rank, groups in enumerate(group.exchange) if not groups] if stages else []
    folded = {rank - (len(group.exchange) - len(beyond)): rank for rank in beyond}
    for rank, groups in enumerate(group.exchange):
        sent = [{slot(k, rank, peer) for peer in peers if peer != rank} for k, peers in enumerate(groups)]
        if rank in folded:
            sent.append({slot(stages, rank, folded[rank])})
            waits[slot(-1, folded[rank], rank)] = set().union(*sent)
            waits[slot(stages, rank, folded[rank])] = set()
        for k, peers in enumerate(groups):
            for peer in peers:
                if peer != rank:
                    waits[slot(k, peer, rank)] = set().union(*sent[k + 1 :])
    if group.doubles:  # scans, and allgather by exchange
        ranks, first = len(group.exchange), stages if group.by_dimensions else 0
        for rank in range(ranks):
            peers = [rank ^ 1 << k for k in range((ranks - 1).bit_length())]
            for k, peer in enumerate(peers):
                later = {slot(first + j, rank, to) for j, to in enumerate(peers) if j > k and to < ranks}
                if peer < ranks:
                    waits.setdefault(slot(first + k, peer, rank), set()).update(later)
    return waits


def check_slots(waits: Slots) -> tuple[int, int]:
    """How many slots, and how many waits of one for another; raises BadRoutes where slots wait in a circle."""
    number = {slot: index for index, slot in enumerate(waits)}
    edges = np.array(
        [(number[slot], number[then]) for slot, after in waits.items() for then in after], np.int64
    ).reshape(-1, 2)
    cycle = find_cycle(len(number), edges)
    if cycle is not None:
        slots = list(waits)
        chain = ", ".join("{} to {}".format(*slots[index][:2]) for index in cycle)
        raise BadRoutes(f"collectives wait in a circle of slots: {chain}")
    return len(number), len(edges)
