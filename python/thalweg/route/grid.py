# SPDX-License-Identifier: Apache-2.0
"""Dimension-order routes of a grid as functions: tables per dimension instead of per pair of nodes.

A packet crosses the first dimension in which its node and its destination differ. How it crosses depends on its position
and its target's in this dimension, and on the destination's tag: the parity of the sum of its coordinates, and its plane.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from thalweg.cluster.topology import MAX_NODES, Topology
from thalweg.route.routes import NO_ROUTE, Bytes, NoRoutes, Routes, by_dimension, in_one_layer

Numbers = NDArray[np.int64]


class Tags:
    """Tags of a grid's nodes, numbered parity x planes + plane.

    They form a group, in which the tag of a node is the sum of the tags of its coordinates.
    """

    def __init__(self, size: Sequence[int], planes: int) -> None:
        self.parity, self.plane = np.divmod(np.arange(2 * planes), planes)
        self.sum: Numbers = self._number(
            self.parity[:, None] + self.parity, self.plane[:, None] + self.plane, planes
        )  #: of two tags
        strides = [math.prod(size[:dimension]) for dimension in range(len(size))]
        self.of_position: list[Numbers] = [
            self._number(np.arange(length), np.arange(length) * stride, planes)
            for length, stride in zip(size, strides, strict=True)
        ]  #: of a coordinate, by dimension and position

    @staticmethod
    def _number(parity: Numbers, plane: Numbers, planes: int) -> Numbers:
        number: Numbers = np.asarray(parity % 2 * planes + plane % planes)
        return number

    @property
    def count(self) -> int:
        return len(self.sum)

    def sums(self, dimensions: Iterable[int]) -> Numbers:
        """Returns how many combinations of coordinates in these dimensions have each tag."""
        return reduce(
            self.added, (np.bincount(self.of_position[d], minlength=self.count) for d in dimensions), self.none
        )

    @property
    def none(self) -> Numbers:
        """The `sums` of no dimension."""
        return np.bincount([0], minlength=self.count)

    def added(self, one: Numbers, other: Numbers) -> Numbers:
        """Returns the `sums` of two sets of dimensions."""
        return np.bincount(self.sum.ravel(), np.outer(one, other).ravel(), self.count).astype(np.int64)


@dataclass(frozen=True, eq=False)
class GridRoutes:
    """Routes of a grid, by dimension; the arrays have the shape (tags, positions, targets)."""

    algorithm: str
    topology: Topology
    port: Sequence[Bytes]  # output port
    route_class: Sequence[Bytes]  # class of the input buffer at the link's other end
    classes: int  # number of route classes in use

    @cached_property
    def tags(self) -> Tags:
        return Tags(self.topology.size, self.topology.planes)

    @cached_property
    def tag(self) -> Numbers:
        """Tag of each node."""
        here, of_position = self.topology.coordinates.T, self.tags.of_position
        return reduce(lambda a, b: self.tags.sum[a, b], (tag[at] for tag, at in zip(of_position, here, strict=True)))

    @cached_property
    def tables(self) -> Routes:
        """The routes as tables by node and destination. Raises NoRoutes if there are too many nodes."""
        if self.topology.nodes > MAX_NODES:
            raise NoRoutes(f"{self.topology.nodes} nodes; routing tables have at most {MAX_NODES}")

        def table(values: Sequence[Bytes], at_destination: int) -> Bytes:
            return by_dimension(
                self.topology.coordinates,
                lambda dimension, position, target: values[dimension][self.tag, position, target],
                at_destination,
            )

        return in_one_layer(self.algorithm, table(self.port, NO_ROUTE), table(self.route_class, 0), self.classes)


def dimension_order(topology: Topology, max_classes: int = 2) -> GridRoutes:
    """Dimension-order routing, along the shorter direction of each ring.

    A ring is cut into two halves. A packet is in class 0 while its path still leads into the other half, and in class 1
    in the half of its destination. No path is longer than half a ring, so no class covers a whole ring; class 1 is
    never left, and both classes are used on all links but the two between the halves. If both directions are equally
    long, the parity of the destination's coordinates decides, which gives each direction half of these paths. The two
    links of a ring of two are used likewise. Destinations are distributed over the planes by their number.
    """
    if not topology.is_whole_grid:
        what = "a grid with added nodes" if topology.is_grid else f"a {topology.shape}"
        raise NoRoutes(f"{what} has no dimensions; give it dfsssp or up-down")
    has_rings = topology.is_wrapped and max(topology.size) > 2
    if has_rings and max_classes < 2:
        raise NoRoutes(
            "rings need 2 route classes, but there are virtual channels for 1; double router.virtual_channels"
        )
    tags = Tags(topology.size, topology.planes)
    parity, plane = tags.parity[:, None, None], tags.plane[:, None, None]
    ports, route_classes = [], []
    for dimension, size in enumerate(topology.size):
        position, target = np.ogrid[:size, :size]
        if topology.is_wrapped:
            ahead = (target - position) % size
            even = (parity - (target if size == 2 else 0)) % 2 == 0
            up = (2 * ahead < size) | ((2 * ahead == size) & even)
        else:
            up = target > position
        port = plane * (topology.shape_ports // topology.planes) + np.where(up, 2 * dimension, 2 * dimension + 1)
        ports.append(port.astype(np.uint8))
        stays = (2 * position < size) == (2 * target < size)
        route_classes.append(np.broadcast_to((has_rings & stays).astype(np.uint8), port.shape))
    return GridRoutes("dimension-order", topology, ports, route_classes, 2 if has_rings else 1)
