# SPDX-License-Identifier: Apache-2.0
"""Virtual topologies: graphs of FPGAs, whose edges are mapped on virtual ports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thalweg.arguments import shown
from thalweg.errors import InputError
from thalweg.systems.vcsn import _sim
from thalweg.systems.vcsn._sim import Place

if TYPE_CHECKING:
    from thalweg.systems.vcsn.cluster import Cluster

Edge = tuple[int, int]
Circuit = tuple[Place, Place]


@dataclass(frozen=True)
class Topology:
    """A graph of FPGAs: a circuit for each edge."""

    name: str
    edges: tuple[Edge, ...]

    @classmethod
    def of(cls, shape: str, nodes: Sequence[int], size: Sequence[int] = ()) -> Topology:
        """Of these FPGAs in their order: line, ring, mesh, torus (`size`: nodes of each dimension), star (around the first), tree (`size`:
        branches of each node, 2 by default; the first is the root). Raises InputError."""
        if bad := [each for each in (*nodes, *size) if not isinstance(each, int | np.integer)]:
            raise InputError(f"a {shape} has {shown(bad[0])}; its nodes and its size are whole numbers")
        return cls(shape, tuple(_sim.edges_of(shape, list(map(int, nodes)), list(map(int, size)))))

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
        return cluster.front.mapped(self.name, self.edges)
