# SPDX-License-Identifier: Apache-2.0
"""Virtual topologies: graphs of FPGAs, whose edges are mapped on virtual ports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np

from thalweg.arguments import shown
from thalweg.cluster import topology
from thalweg.errors import InputError
from thalweg.systems.vcsn._sim import Place

if TYPE_CHECKING:
    from thalweg.systems.vcsn.cluster import Cluster

Edge = tuple[int, int]
Circuit = tuple[Place, Place]

GRIDS = ("line", "ring", "mesh", "torus")
SHAPES = (*GRIDS, "star", "tree")


@dataclass(frozen=True)
class Topology:
    """A graph of FPGAs: a circuit for each edge."""

    name: str
    edges: tuple[Edge, ...]

    @classmethod
    def of(cls, shape: str, nodes: Sequence[int], size: Sequence[int] = ()) -> Topology:
        """Of these FPGAs in their order: line, ring, mesh, torus (`size`: nodes of each dimension), star (around the first), tree (`size`:
        branches of each node, 2 by default; the first is the root). Raises InputError."""
        if shape not in SHAPES:
            raise InputError(f"{shape!r} is no shape of circuits; the shapes are {', '.join(SHAPES)}")
        if bad := [each for each in (*nodes, *size) if not isinstance(each, int | np.integer)]:
            raise InputError(f"a {shape} has {shown(bad[0])}; its nodes and its size are whole numbers")
        if len(nodes) < 2:
            raise InputError(f"a {shape} of {len(nodes)} FPGAs; it has at least two")
        if shape == "tree":
            if len(size) > 1 or min(size, default=2) < 1:
                raise InputError(f"the size of a tree is {list(size)}; it is one number, the branches of each node")
            edges = list(nx.full_rary_tree(size[0] if size else 2, len(nodes)).edges)
        else:
            if shape in ("mesh", "torus"):
                if not size:
                    raise InputError(f"a {shape} has a size: its nodes in each dimension")
            elif size:
                raise InputError(f"a {shape} has no size: it has all FPGAs")
            try:
                built = topology.build(shape, size or [len(nodes)])
            except ValueError as error:
                raise InputError(str(error)) from None
            if built.nodes != len(nodes):
                raise InputError(
                    f"a {shape} of {'x'.join(map(str, size))} has {built.nodes} nodes; there are {len(nodes)}"
                )
            edges = [(a, b) for a, _, b, _ in built.links.tolist()]
        return cls(shape, tuple((int(nodes[a]), int(nodes[b])) for a, b in edges))

    @classmethod
    def graph(cls, edges: Iterable[Edge], name: str = "graph") -> Topology:
        """Of any edges, such as those of a networkx graph; several may join the same two FPGAs. Raises InputError."""
        found = []
        for edge in edges:
            if len(edge) != 2 or not all(isinstance(node, int | np.integer) for node in edge):
                raise InputError(f"{name}: an edge is {shown(edge)}; it is two numbers of FPGAs")
            found.append((int(edge[0]), int(edge[1])))
        return cls(name, tuple(found))

    def circuits(self, cluster: Cluster) -> list[Circuit]:
        """A circuit for each edge, in their order: its two virtual ports. Circuits of an FPGA are spread over its external ports. Raises InputError
        if no ports are found."""
        return _Mapping(cluster, self).circuits()


@dataclass
class _Mapping:
    """Assigns external ports to edges, one edge after another. An edge without a free port displaces others, which move to other ports, as in an
    augmenting path."""

    cluster: Cluster
    topology: Topology
    ports: dict[int, tuple[int, int]] = field(default_factory=dict)  #: of each edge that has some: at its ends
    used: Counter[tuple[int, int]] = field(default_factory=Counter)  #: virtual ports, by (node, external port)

    def circuits(self) -> list[Circuit]:
        self._check()
        for edge in range(len(self.topology.edges)):
            if not self._place(edge, {edge}):
                a, b = self.topology.edges[edge]
                raise InputError(
                    f"{self.topology.name}: no external ports with a free virtual one are left for the circuit of nodes {a} and {b}"
                )
        taken: Counter[tuple[int, int]] = Counter()

        def next_at(node: int, port: int) -> Place:
            taken[node, port] += 1
            return Place(node, port, taken[node, port] - 1)

        return [
            (next_at(a, self.ports[edge][0]), next_at(b, self.ports[edge][1]))
            for edge, (a, b) in enumerate(self.topology.edges)
        ]

    def _check(self) -> None:
        cluster, name = self.cluster, self.topology.name
        if cluster.is_direct:
            raise InputError(f"{name}: {cluster.name} has serial links, and no circuits")
        for a, b in self.topology.edges:
            for node in (a, b):
                if node not in cluster.fpgas:
                    raise InputError(
                        f"{name}: node {node} is no FPGA; those of {cluster.name} are {cluster.fpgas[0]} to {cluster.fpgas[-1]}"
                    )
            if a == b:
                raise InputError(f"{name}: a circuit joins node {a} with itself")
            if not self._options(a, b):
                raise InputError(f"{name}: no Ethernet leads from node {a} to node {b}")
        for node, degree in sorted(Counter(node for edge in self.topology.edges for node in edge).items()):
            if degree > (has := len(cluster.joined(node)) * self._virtual(node)):
                raise InputError(f"{name}: node {node} has {degree} circuits; it has {has} virtual ports")

    def _virtual(self, node: int) -> int:
        return self.cluster.fpga(node).virtual_of_port

    def _options(self, a: int, b: int) -> list[tuple[int, int]]:
        """External ports of two nodes between which frames go."""
        return [
            (one, other)
            for one in self.cluster.joined(a)
            for other in self.cluster.joined(b)
            if self.cluster.reaches((a, one), (b, other))
        ]

    def _ends(self, edge: int, ports: tuple[int, int]) -> list[tuple[int, int]]:
        return list(zip(self.topology.edges[edge], ports, strict=True))

    def _put(self, edge: int, ports: tuple[int, int]) -> None:
        self.ports[edge] = ports
        self.used.update(self._ends(edge, ports))

    def _take(self, edge: int) -> tuple[int, int]:
        ports = self.ports.pop(edge)
        self.used.subtract(self._ends(edge, ports))
        return ports

    def _full(self, end: tuple[int, int], more: int) -> bool:
        return self.used[end] + more > self._virtual(end[0])

    def _place(self, edge: int, moved: set[int]) -> bool:
        """Assigns ports to an edge. Edges that are not in `moved` may be displaced."""
        options = sorted(
            self._options(*self.topology.edges[edge]),
            key=lambda ports: sorted((self.used[end] for end in self._ends(edge, ports)), reverse=True),
        )
        for ports in options:
            if not any(self._full(end, 1) for end in self._ends(edge, ports)):
                self._put(edge, ports)
                return True
        for ports in options:
            before = dict(self.ports), self.used.copy()
            self._put(edge, ports)
            if all(self._relieve(end, moved) for end in self._ends(edge, ports)):
                return True
            self.ports, self.used = before
        return False

    def _relieve(self, end: tuple[int, int], moved: set[int]) -> bool:
        """Displaces an edge from an external port that has more circuits than virtual ports."""
        if not self._full(end, 0):
            return True
        for other in [
            each for each, ports in self.ports.items() if each not in moved and end in self._ends(each, ports)
        ]:
            moved.add(other)
            ports = self._take(other)
            if self._place(other, moved):
                return True
            self._put(other, ports)
        return False
