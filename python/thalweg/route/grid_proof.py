# SPDX-License-Identifier: Apache-2.0
"""Proof of a grid's dimension-order routes without enumeration of all pairs; its results equal those of `proof.prove`.

A line is the row of nodes along one dimension through a node. 1. The links of a dimension are the same in all of its lines,
and a route in this dimension follows them to the target's position, so lower dimensions, once crossed, stay crossed. 2. A
packet therefore leaves a line for a higher dimension only, and a wait-for cycle would stay within one line. 3. Which routes
a line has depends on the tag of its coordinates in lower dimensions, as all packets in it have these coordinates for
destination; higher ones may be any. The lines of each tag are equal, and one of them is proved like a table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from thalweg.route import proof
from thalweg.route.grid import GridRoutes, Numbers
from thalweg.route.paths import Paths
from thalweg.route.proof import BadRoutes, Buffer, Edges, Proof
from thalweg.route.routes import in_one_layer

Flags = NDArray[np.bool_]


def prove(routes: GridRoutes, vc_mask: Sequence[Sequence[int]], virtual_channels: int) -> Proof:
    """Proves the routes, and returns their figures. Raises BadRoutes. `vc_mask` is that of `proof.prove`."""
    proof.check_masks(vc_mask, routes.classes, virtual_channels)
    topology = routes.topology
    dimensions = _dimensions(routes)
    dependencies = 0
    for along in dimensions:
        for tag, lines in along.lines():
            edges = proof.expand(along.waits(tag, along.channel), routes.classes, vc_mask, virtual_channels)
            along.check_line(tag, edges, virtual_channels)
            dependencies += lines * len(edges)
    masks = np.array([each[: routes.classes] for each in vc_mask])
    channels = masks[:, :, None] >> np.arange(virtual_channels) & 1 == 1
    for higher in range(1, len(dimensions)):
        for lower in range(higher):
            dependencies += _turns(dimensions[lower], dimensions[higher], channels)
    pairs = topology.nodes * (topology.nodes - 1)
    return proof.figures(
        topology,
        routes,
        virtual_channels,
        dependencies=dependencies,
        longest_path=_longest(dimensions),
        average_path=sum(along.links_passed for along in dimensions) / pairs,
        load=max(along.load for along in dimensions),
    )


def check_relays(routes: GridRoutes) -> None:
    """Raises BadRoutes unless the routes are free of wait-for cycles if parallel links between two nodes are one."""
    for along in _dimensions(routes):
        for tag, _ in along.lines():
            along.check_line(tag, along.waits(tag, along.neighbour), routes.classes)


def _dimensions(routes: GridRoutes) -> list[_Dimension]:
    return [_Dimension(routes, dimension) for dimension in range(len(routes.topology.size))]


class _Dimension:
    """The lines of one dimension. Arrays have the shape (tags of destinations, positions, targets)."""

    def __init__(self, routes: GridRoutes, dimension: int) -> None:
        """Raises BadRoutes if a position cannot be reached, or if lines have different links."""
        self.routes, self.dimension = routes, dimension
        self.topology, self.tags = routes.topology, routes.tags
        self.size, self.ports = self.topology.size[dimension], self.topology.link_ports
        self.stride = math.prod(self.topology.size[:dimension])
        every = range(len(self.topology.size))
        self.of_position = self.tags.of_position[dimension]
        self.below, self.above = self.tags.sums(every[:dimension]), self.tags.sums(every[dimension + 1 :])
        self.step, self.far_port = self._links()
        self.port, self.route_class = routes.port[dimension].astype(np.int64), routes.route_class[dimension]
        self.exists: Flags = np.any(self.below[:, None, None] * self.destinations > 0, axis=0)
        self.paths = [self._paths(tag) for tag in range(self.tags.count)]
        self.channel = np.arange(self.size)[:, None] * self.ports + self.port
        following = np.stack([paths.next for paths in self.paths])
        self.neighbour = np.arange(self.size)[:, None] * self.ports + self._first_port(following)

    @cached_property
    def destinations(self) -> Numbers:
        """Array (tags of lines, tags, targets): number of a line's destinations."""
        result = np.zeros((self.tags.count, self.tags.count, self.size), np.int64)
        line, target, above = np.ogrid[: self.tags.count, : self.size, : self.tags.count]
        up_to_here = self.tags.sum[line, self.of_position[target]]
        result[line, self.tags.sum[up_to_here, above], target] = self.above[above]
        return result

    def lines(self) -> Iterator[tuple[int, int]]:
        """Yields the tag of one line of each kind, and the number of lines of this kind."""
        above = math.prod(self.topology.size[self.dimension + 1 :])
        kinds: dict[bytes, list[int]] = {}
        for tag in np.flatnonzero(self.below).tolist():
            kinds.setdefault((self.destinations[tag] > 0).tobytes(), []).append(tag)
        for alike in kinds.values():
            yield alike[0], int(self.below[alike].sum()) * above

    def waits(self, line: int, channel: Numbers) -> Edges:
        """Returns the dependencies between a line's channels, numbered position x ports + port."""
        found = []
        for tag, paths in enumerate(self.paths):
            sources = (self.destinations[line, tag] > 0) & ~np.eye(self.size, dtype=bool)
            table = in_one_layer("", self.routes.port[self.dimension][tag], self.route_class[tag], self.routes.classes)
            found.append(proof.dependencies(paths, channel[tag], sources, table))
        return proof.distinct(np.concatenate(found))

    def check_line(self, line: int, edges: Edges, buffers: int) -> None:
        """Raises BadRoutes if buffers, numbered (position x ports + port) x buffers + buffer, form a wait-for cycle."""
        first = int(np.flatnonzero(self.routes.tag[: self.stride] == line)[0])

        def name(vertex: int) -> Buffer:
            channel, buffer = divmod(vertex, buffers)
            position, port = divmod(channel, self.ports)
            node = first + position * self.stride
            return Buffer(node, port, int(self.topology.peer[node, port]), buffer)

        proof.check_acyclic(self.size * self.ports * buffers, edges, "buffers", name)

    def arrivals(self) -> Flags:
        """Array (positions, tags, ports, classes): inputs of the node at a position that a destination there uses."""
        result = np.zeros((self.size, self.tags.count, self.ports, self.routes.classes), bool)
        for tag, paths in enumerate(self.paths):
            position, target = np.nonzero((paths.steps == 1) & self.exists[tag])
            into = self.far_port[position, self.port[tag, position, target]]
            result[target, tag, into, self.route_class[tag, position, target]] = True
        return result

    def departures(self, line: int) -> Flags:
        """Array (positions, tags, ports, classes): outputs of the node at a position that packets of a line use."""
        result = np.zeros((self.size, self.tags.count, self.ports, self.routes.classes), bool)
        for tag, paths in enumerate(self.paths):
            position, target = np.nonzero((paths.steps > 0) & (self.destinations[line, tag] > 0))
            result[position, tag, self.port[tag, position, target], self.route_class[tag, position, target]] = True
        return result

    @property
    def links_passed(self) -> int:
        """Sum over all pairs of nodes of the links in this dimension on their path."""
        others = self.topology.nodes // self.size
        weights = np.einsum("l,ltp->tp", self.below, self.destinations)
        return others * sum(int((paths.steps.sum(axis=0) * weights[tag]).sum()) for tag, paths in enumerate(self.paths))

    @property
    def load(self) -> int:
        """The number of pairs of nodes whose path passes the busiest link."""
        most = 0
        through = [paths.through(~np.eye(self.size, dtype=bool)) for paths in self.paths]
        for line in np.flatnonzero(self.below):
            load = np.zeros(self.size * self.ports)
            for tag, paths in enumerate(self.paths):
                onward = (paths.steps > 0) & (self.destinations[line, tag] > 0)
                weights = (through[tag] * self.destinations[line, tag])[onward]
                load += np.bincount(self.channel[tag][onward], weights, len(load))
            most = max(most, int(load.max()) * self.stride)
        return most

    def _links(self) -> tuple[Numbers, Numbers]:
        """Returns arrays (positions, ports): the position that a port leads to within a line, or -1; and the port there."""
        peer, peer_port = self.topology.peer.astype(np.int64), self.topology.peer_port.astype(np.int64)
        nodes = np.arange(self.topology.nodes)
        position = nodes // self.stride % self.size
        line = np.arange(self.size) * self.stride
        step = peer[line] // self.stride % self.size
        of_shape = np.arange(self.ports) < self.topology.shape_ports
        step = np.where(of_shape & (peer[line] >= 0) & (peer[line] == step * self.stride), step, -1)
        inside = step[position] >= 0
        follows = peer == nodes[:, None] + (step[position] - position[:, None]) * self.stride
        if not (follows & (peer_port == peer_port[line][position]) | ~inside).all():
            raise BadRoutes(f"lines of dimension {self.dimension} have different links")
        return step, peer_port[line]

    def _paths(self, tag: int) -> Paths:
        port, everywhere = self.port[tag], np.arange(self.size)
        following = np.where(port < self.ports, self.step[everywhere[:, None], np.minimum(port, self.ports - 1)], -1)
        following = np.where(self.exists[tag], following, everywhere)  # no destination: nothing to prove
        following[everywhere, everywhere] = everywhere
        paths = Paths(following)
        place = f"position {{}} of dimension {self.dimension}".format
        proof.check_arrival(
            paths, place, place, lambda at, to: f"port {port[at, to]} does not lead to another position"
        )
        return paths

    def _first_port(self, following: NDArray[np.int32]) -> Numbers:
        """Returns the first of the ports that lead to the same next position."""
        leads = self.step[:, None, :] == np.arange(self.size)[:, None]  # (positions, positions, ports)
        first: Numbers = leads.argmax(axis=2)
        return first[np.arange(self.size)[:, None], following]


def _longest(dimensions: Sequence[_Dimension]) -> int:
    """Returns the longest path in links, over the destinations of each tag."""
    tags = dimensions[0].tags
    longest = 0
    for tag in range(tags.count):
        most = np.where(tags.none > 0, 0, -1)  # by the sum of the tags so far; -1: there is no such sum
        for along in dimensions:
            steps = along.paths[tag].steps.max(axis=0)
            longer = np.full_like(most, -1)
            for total in np.flatnonzero(most >= 0):
                np.maximum.at(longer, tags.sum[total, along.of_position], most[total] + steps)
            most = longer
        longest = max(longest, int(most[tag]))
    return longest


def _turns(lower: _Dimension, higher: _Dimension, channels: Flags) -> int:
    """Returns the number of dependencies from buffers in one dimension to buffers in a higher one.

    `channels[message class, route class, virtual channel]` are the allowed ones.
    """
    tags, size = lower.tags, lower.topology.size
    arrivals, arrival = np.unique(lower.arrivals(), axis=0, return_inverse=True)
    others = tags.sums(d for d in range(higher.dimension) if d != lower.dimension)
    above = math.prod(size[higher.dimension + 1 :])
    total = 0
    for line in np.flatnonzero(higher.below).tolist():
        departures, times = np.unique(higher.departures(line), axis=0, return_counts=True)
        # number of combinations of lower coordinates with each kind of arrival and with the line's tag
        position, rest = np.nonzero(tags.sum[lower.of_position] == line)
        combinations = np.bincount(arrival.ravel()[position], others[rest], len(arrivals)).astype(np.int64)
        held, wanted = (
            np.einsum("ktpc,mcv->ktmpv", kinds, channels).reshape(len(kinds), tags.count * len(channels), -1)
            for kinds in (arrivals, departures)
        )
        waits = np.einsum("atp,btq->abpq", held.astype(np.int64), wanted.astype(np.int64)) > 0
        total += int(combinations @ waits.sum(axis=(2, 3)) @ times) * above
    return total
