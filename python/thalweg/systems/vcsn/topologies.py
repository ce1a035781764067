# SPDX-License-Identifier: Apache-2.0
"""Virtual topologies: graphs of FPGAs whose edges are mapped to virtual ports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thalweg.arguments import shown
from thalweg.errors import InputError
from thalweg.systems.vcsn import _sim
from thalweg.systems.vcsn._sim import VirtualPort

if TYPE_CHECKING:
    from thalweg.systems.vcsn.cluster import Cluster

Edge = tuple[int, int]
Circuit = tuple[VirtualPort, VirtualPort]


@dataclass(frozen=True)
class Topology:
    """A graph of FPGAs with a circuit for each edge.

    Examples
    --------
    >>> ring = Topology.of("ring", range(4))
    >>> ring.edges
    ((0, 1), (1, 2), (2, 3), (3, 0))
    """

    name: str
    edges: tuple[Edge, ...]

    @classmethod
    def of(cls, shape: str, nodes: Sequence[int], size: Sequence[int] = ()) -> Topology:
        """Creates a regular topology of FPGAs, in their order.

        Parameters
        ----------
        shape : str
            line, ring, mesh, torus, star (around the first) or tree (the first is the root).
        nodes : sequence of int
            The FPGAs.
        size : sequence of int
            Nodes per dimension of a mesh or torus; branches per node of a tree (default 2).

        Raises
        ------
        InputError
            The shape or the size is invalid.
        """
        if bad := [each for each in (*nodes, *size) if not isinstance(each, int | np.integer)]:
            raise InputError(f"a {shape} has {shown(bad[0])}; nodes and size must be integers")
        return cls(shape, tuple(_sim.edges_of(shape, list(map(int, nodes)), list(map(int, size)))))

    @classmethod
    def graph(cls, edges: Iterable[Edge], name: str = "graph") -> Topology:
        """Creates a topology of any edges, such as those of a networkx graph; parallel edges are allowed. Raises
        InputError."""
        found = []
        for edge in edges:
            if len(edge) != 2 or not all(isinstance(node, int | np.integer) for node in edge):
                raise InputError(f"{name}: an edge is {shown(edge)}; it must be a pair of FPGA numbers")
            found.append((int(edge[0]), int(edge[1])))
        return cls(name, tuple(found))

    def circuits(self, cluster: Cluster) -> list[Circuit]:
        """Maps each edge, in order, to a circuit between two virtual ports, spread over the external ports.

        Raises InputError if there are not enough ports.
        """
        return cluster.front.mapped(self.name, self.edges)
