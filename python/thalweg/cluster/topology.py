# SPDX-License-Identifier: Apache-2.0
"""Topologies: the nodes of a cluster and the links between their ports, with closed forms for the regular shapes.

Nodes of a grid are numbered with the first dimension fastest: node = x + y X + z X Y. Dimension d has two ports,
2d towards larger coordinates and 2d + 1 towards smaller ones. A ring of two nodes has two links: port 2d of each node is connected
to port 2d + 1 of the other.

A fat tree is the extended generalized fat tree of S. Ohring et al. ("On Generalized Fat Trees", IPPS 1995): hosts are numbered
first, then the switches, leaves before spines. A switch's ports downwards come first, then its ports upwards.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

SHAPES = {
    "line": "nodes in a row, linked to their neighbors",
    "ring": "a line with linked ends",
    "mesh": "a grid of any dimension",
    "torus": "a grid in which every row is a ring",
    "prism": "two rings, linked node by node",
    "star": "node 0 linked to every other node",
    "fattree": "levels of switches above hosts",
    "edges": "any list of links",
}
GRIDS = ("line", "ring", "mesh", "torus")
WRAPPED = ("ring", "torus")

MAX_NODES = 4096  # routing tables have nodes x nodes entries, in memory
MAX_GRID_NODES = 1 << 20  # of a grid whose routes are proved without tables (thalweg.route.grid)
RADIX, OVERSUBSCRIPTION = 8, 3  # defaults of a fat tree; 3:1 as in the MPI-FPGA paper, section 6.2.2
MAX_LINK_PORTS = 128  # port numbers are bytes; half of them may be local ports


@dataclass(frozen=True, eq=False)
class Topology:
    """Nodes, numbered from 0, and bidirectional links between their link ports."""

    shape: str
    size: tuple[
        int, ...
    ]  # nodes of each dimension of a grid, nodes of one ring of a prism, otherwise the number of nodes
    planes: int  # number of copies of the shape's links, each with its own ports
    nodes: int
    link_ports: int  # per node, including unconnected ones
    links: NDArray[np.int32]  # a row per link: node, port, other node, other port
    level: tuple[int, ...] = ()  # of each node of a fat tree: 0 for hosts, 1 for leaf switches and so on
    joined: int = 0  # number of links beyond the shape; they are the last ones
    added: int = 0  # number of nodes beyond the shape; they are the last ones, and have level -1 in a fat tree

    @property
    def hosts(self) -> int:
        """Number of nodes with a host, which can have ranks. They come first; the other nodes are switches."""
        return self.level.count(0) if self.level else self.nodes

    @property
    def shape_nodes(self) -> int:
        """Number of nodes of the shape itself."""
        return self.nodes - self.added

    @property
    def of_shape(self) -> NDArray[np.int32]:
        """Links of the shape itself."""
        return self.links[: len(self.links) - self.joined]

    @property
    def shape_ports(self) -> int:
        """Number of link ports of a node that the shape uses."""
        return int(self.of_shape[:, [1, 3]].max()) + 1 if self.joined else self.link_ports

    @property
    def is_grid(self) -> bool:
        return self.shape in GRIDS

    @property
    def is_whole_grid(self) -> bool:
        """True if all nodes are those of a grid."""
        return self.is_grid and not self.added

    @property
    def is_wrapped(self) -> bool:
        return self.shape in WRAPPED

    @cached_property
    def peer(self) -> NDArray[np.int32]:
        """Array (nodes, link ports): the node at the other end of each port's link, or -1."""
        return self._ends(2)

    @cached_property
    def peer_port(self) -> NDArray[np.int32]:
        """Array (nodes, link ports): the port at the other end of each port's link, or -1."""
        return self._ends(3)

    def part(self, nodes: Sequence[int]) -> tuple[Topology, NDArray[np.bool_]]:
        """Returns the topology of some nodes, renumbered in order, and a mask of the links kept: those between these
        nodes.

        The result is a list of edges, unless `nodes` are all the nodes of the shape.
        """
        number = np.full(self.nodes, -1, np.int32)
        number[list(nodes)] = np.arange(len(nodes))
        kept = (number[self.links[:, 0]] >= 0) & (number[self.links[:, 2]] >= 0)
        links = self.links[kept]
        links[:, [0, 2]] = number[links[:, [0, 2]]]
        ports = int(links[:, [1, 3]].max(initial=-1)) + 1
        if list(nodes) != list(range(self.shape_nodes)):
            return Topology("edges", (len(nodes),), 1, len(nodes), ports, links), kept
        joined = int(kept[len(kept) - self.joined :].sum())
        level, ports = self.level[: len(nodes)], ports if joined else self.shape_ports
        return replace(self, nodes=len(nodes), links=links, link_ports=ports, level=level, joined=joined, added=0), kept

    def _ends(self, column: int) -> NDArray[np.int32]:
        table = np.full((self.nodes, self.link_ports), -1, np.int32)
        a, port_a, b, port_b = self.links.T
        table[a, port_a] = self.links[:, column]
        table[b, port_b] = self.links[:, column - 2]
        return table

    @cached_property
    def coordinates(self) -> NDArray[np.int32]:
        """Array (nodes, dimensions) of a grid's coordinates; for other shapes (nodes, 1), the node number."""
        ids = np.arange(self.nodes)
        columns = []
        for size in self.size:
            columns.append(ids % size)
            ids = ids // size
        return np.stack(columns, axis=1).astype(np.int32)

    @cached_property
    def distances(self) -> NDArray[np.int32]:
        """Array (nodes, nodes): length of a shortest path in links; -1 if there is no path."""
        far = np.iinfo(np.int32).max // 2
        distance = np.full((self.nodes, self.nodes), far, np.int32)
        np.fill_diagonal(distance, 0)
        while True:
            before = distance.copy()
            for port in range(self.link_ports):
                joined = np.flatnonzero(self.peer[:, port] >= 0)
                distance[joined] = np.minimum(distance[joined], before[self.peer[joined, port]] + 1)
            if (distance == before).all():
                break
        return np.where(distance == far, -1, distance).astype(np.int32)

    @cached_property
    def unreachable(self) -> tuple[int, int] | None:
        """Two nodes without a path between them, or None if the cluster is connected."""
        reached = np.zeros(self.nodes, bool)
        front = np.array([0])
        while front.size:
            reached[front] = True
            beyond = self.peer[front]
            front = np.unique(beyond[(beyond >= 0) & ~reached[beyond]])
        return None if reached.all() else (0, int(reached.argmin()))

    @cached_property
    def diameter(self) -> int:
        """Maximum distance between hosts in links; a closed form if the shape has one."""
        match "edges" if self.joined else self.shape:
            case "line" | "mesh":
                return sum(size - 1 for size in self.size)
            case "ring" | "torus":
                return sum(size // 2 for size in self.size)
            case "prism":
                return self.size[0] // 2 + 1
            case "star":
                return min(2, self.nodes - 1)
            case _:
                return int(self.distances[: self.hosts, : self.hosts].max())

    @cached_property
    def average_distance(self) -> float:
        """Average distance between different hosts in links; a closed form if the shape has one."""
        n = self.hosts
        pairs = n * (n - 1)
        match "edges" if self.joined else self.shape:
            case "line" | "mesh":
                return sum((size * size - 1) / (3 * size) for size in self.size) * n * n / pairs
            case "ring" | "torus":
                return sum((size * size // 4) / size for size in self.size) * n * n / pairs
            case "prism":
                return (self.size[0] ** 2 // 4 / self.size[0] + 0.5) * n * n / pairs
            case "star":
                return (2 * (n - 1) + 2 * (n - 1) * (n - 2)) / pairs
            case _:
                return float(self.distances[:n, :n].sum() / pairs)


def _grid_links(size: Sequence[int], wrapped: bool) -> NDArray[np.int32]:
    nodes = math.prod(size)
    ids = np.arange(nodes)
    rows = []
    stride = 1
    for dimension, length in enumerate(size):
        position = ids // stride % length
        start = ids if wrapped else ids[position < length - 1]
        at_end = position[start] == length - 1
        end = start + stride - at_end * stride * length
        ports = np.full_like(start, 2 * dimension)
        rows.append(np.stack([start, ports, end, ports + 1], axis=1))
        stride *= length
    return np.concatenate(rows).astype(np.int32)


def _prism_links(ring: int) -> NDArray[np.int32]:
    """Each ring uses ports 0 and 1; port 2 connects node i of one ring to node i of the other."""
    one = _grid_links([ring], True)
    between = [(node, 2, node + ring, 2) for node in range(ring)]
    return np.concatenate([one, one + np.array([ring, 0, ring, 0]), between]).astype(np.int32)


def _edge_links(edges: Sequence[Sequence[int]], nodes: int) -> NDArray[np.int32]:
    free = [0] * nodes
    rows = []
    for a, b in edges:
        port_a, free[a] = free[a], free[a] + 1
        port_b, free[b] = free[b], free[b] + 1
        rows.append((a, port_a, b, port_b))
    return np.array(rows, np.int32).reshape(-1, 4)


def _fat_tree(hosts: int, radix: int, oversubscription: int, levels: int | None) -> tuple[list[list[int]], list[int]]:
    """Returns the links of a fat tree, and the level of each node.

    A leaf switch has `oversubscription` times as many ports to hosts as upwards. Switches between leaves and spines
    have equally many ports upwards and downwards, spines only ports downwards. `levels` defaults to the number that the
    hosts need.
    """
    up = radix // (oversubscription + 1)
    if up < 1:
        raise ValueError(
            f"a leaf of {radix} ports has no port upwards at {oversubscription}:1; radix must be at least {oversubscription + 1}"
        )

    def shape(height: int) -> tuple[list[int], list[int]]:  # numbers of children and parents of a node, by level
        if height == 1:
            return [radix], [1]
        between = [radix // 2] * (height - 2)
        return [radix - up, *between, radix], [1, up, *between]

    height = levels or next(h for h in itertools.count(1) if math.prod(shape(h)[0]) >= hosts)
    children, parents = shape(height)
    if math.prod(children) < hosts:
        raise ValueError(
            f"{levels} levels of {radix} ports hold {math.prod(children)} hosts, not {hosts}; increase levels"
        )

    below = [math.prod(children[:level]) for level in range(height + 1)]  # number of hosts below a switch, by level
    copies = [math.prod(parents[:level]) for level in range(height + 1)]  # number of switches with the same hosts below
    count = [-(-hosts // below[level]) * copies[level] for level in range(height + 1)]
    first = [sum(count[:level]) for level in range(height + 1)]
    links = []
    for level in range(height):
        for child in range(count[level]):
            subtree, copy = divmod(child, copies[level])
            above, place = divmod(subtree, children[level])
            for parent in range(parents[level]):
                end = first[level + 1] + above * copies[level + 1] + copy + parent * copies[level]
                port = parent + (children[level - 1] if level else 0)
                links.append([first[level] + child, port, end, place])
    return links, [level for level in range(height + 1) for _ in range(count[level])]


def _own_switches(links: list[list[int]], level: list[int], planes: int) -> tuple[list[list[int]], list[int]]:
    """Returns a fat tree with separate switches for each plane: those of the first plane, then of the second, and so on."""
    hosts = level.count(0)
    switches = len(level) - hosts
    of_planes = [
        [
            a + plane * switches * (level[a] > 0),
            port_a + plane * (level[a] == 0),
            b + plane * switches * (level[b] > 0),
            port_b,
        ]
        for plane in range(planes)
        for a, port_a, b, port_b in links
    ]
    return of_planes, level[:hosts] + level[hosts:] * planes


def build(
    shape: str,
    size: Sequence[int],
    edges: Sequence[Sequence[int]] = (),
    planes: int = 1,
    radix: int | None = None,
    oversubscription: int | None = None,
    levels: int | None = None,
    plane_switches: bool = False,
    most_of_grid: int = MAX_NODES,
) -> Topology:
    """Builds the topology of a shape.

    Parameters
    ----------
    shape : str
        One of `SHAPES`.
    size : sequence of int
        Nodes per dimension of a mesh or torus, hosts of a fat tree, nodes of one ring of a prism, or the number of
        nodes.
    edges : sequence of (int, int)
        Pairs of linked nodes, for the shape "edges". Ports are assigned in the order of the list.
    planes : int
        Number of copies of all links.
    radix : int, optional
        Ports per switch of a fat tree.
    oversubscription : int, optional
        Ratio of a leaf switch's ports to hosts over its ports upwards.
    levels : int, optional
        Levels of switches of a fat tree. Default: as many as the hosts need.
    plane_switches : bool
        If true, each plane of a fat tree has its own switches, and hosts have a port to each.
    most_of_grid : int
        Maximum number of nodes of a grid; for other shapes it is `MAX_NODES`.

    Raises
    ------
    ValueError
        A size is invalid; the message gives the valid range.

    Examples
    --------
    >>> build("torus", [4, 4]).diameter
    4
    """
    if shape not in SHAPES:
        raise ValueError(f"unknown shape {shape!r}; the shapes are {', '.join(SHAPES)}")
    if shape not in ("mesh", "torus") and len(size) != 1:
        raise ValueError(f"a {shape} takes one size, its number of nodes")
    if not size or min(size) < 2:
        raise ValueError(f"every size of a {shape} must be at least 2")
    nodes = math.prod(size) * (2 if shape == "prism" else 1)
    level: tuple[int, ...] = ()
    if shape == "fattree":
        radix = radix or RADIX
        rows, of_node = _fat_tree(
            nodes, radix, OVERSUBSCRIPTION if oversubscription is None else oversubscription, levels
        )
        if plane_switches:
            rows, of_node = _own_switches(rows, of_node, planes)
            planes = 1
        nodes, level = len(of_node), tuple(of_node)
    if nodes > (most := most_of_grid if shape in GRIDS else MAX_NODES):
        raise ValueError(f"{nodes} nodes; the maximum is {most}")
    match shape:
        case "fattree":
            links = np.array(rows, np.int32)
        case "prism":
            links = _prism_links(nodes // 2)
        case "star":
            links = _edge_links([(0, leaf) for leaf in range(1, nodes)], nodes)
        case "edges":
            links = _edge_links(edges, nodes)
        case _:
            links = _grid_links(size, shape in WRAPPED)
    ports = 2 * len(size) if shape in GRIDS else int(links[:, [1, 3]].max(initial=-1)) + 1
    if shape == "fattree":
        ports = max(ports, radix or RADIX)
    if ports * planes > MAX_LINK_PORTS:
        raise ValueError(f"a node with {ports * planes} link ports; the maximum is {MAX_LINK_PORTS}")
    step = np.array([0, ports, 0, ports], np.int32)
    copies = np.concatenate([links + plane * step for plane in range(planes)])
    return Topology(shape, tuple(size), planes, nodes, ports * planes, copies, level)
