# SPDX-License-Identifier: Apache-2.0
"""Path search for hardware without virtual channels: a tree of short paths per destination, whose turns form no cycle.

The search starts from acyclic trees. Then the tree of each destination in turn is replaced if another one has shorter
paths or less load and keeps the turns acyclic. The best of several starts is improved by changing several destinations
at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import numpy as np

from thalweg.cluster.topology import Topology, build
from thalweg.route import loads
from thalweg.route.acyclic import AcyclicGraph
from thalweg.route.paths import Places
from thalweg.route.routes import NO_ROUTE, Bytes, NoRoutes, Routes, by_dimension, in_one_layer, require_connected

MAX_NODES = 256  #: the search takes minutes for more
_BASES = 6  #: number of up*/down* starts that are improved: those with the shortest paths
_FEW = 32  #: nodes; above, a third of `_BASES` is improved
_PASSES = 8  #: maximum, over all destinations
_TRIES = 400  #: maximum number of attempts with several destinations
_TRIED_NODES = 6_000  #: maximum of attempts times nodes
_LOAD = 0.1  #: weight of the busiest link's load relative to the average path length, both normalized to shortest paths

Edge = tuple[int, int]
Tree = list[int]
"""Output port of each node towards one destination; -1 at the destination."""


def tree_search(topology: Topology, max_classes: int = 1) -> Routes:
    """Returns short paths in one class; deterministic. Raises NoRoutes."""
    if topology.nodes > MAX_NODES:
        raise NoRoutes(f"tree-search supports at most {MAX_NODES} nodes; use dfsssp or up-down")
    require_connected(topology)
    best: _Search | None = None
    for trees in _begun(topology):
        made = _Search(topology, trees)
        made.pass_over()
        best = made if best is None or made.cost < best.cost else best
        if best.is_best:
            break
    assert best is not None
    best.try_some()
    return in_one_layer("tree-search", np.array(best.trees, np.int16).T.astype(np.uint8))


def _begun(topology: Topology) -> Iterator[list[Tree]]:
    if topology.is_grid and len(topology.size) > 1 and topology.planes == 1:
        yield _dimension_order(topology)
        if topology.nodes > _FEW:
            return
    found: dict[tuple[int, ...], tuple[int, list[Tree]]] = {}
    for root in range(topology.nodes):
        level = topology.distances[root].tolist()
        for way in (1, -1):
            order = sorted(range(topology.nodes), key=lambda node: (level[node], way * node))
            if tuple(order) not in found:
                trees = _up_down(topology, order)
                found[tuple(order)] = (_Search(topology, trees).hops, trees)
    for _, trees in sorted(found.values(), key=lambda of: of[0])[: _BASES if topology.nodes <= _FEW else _BASES // 3]:
        yield trees


def _dimension_order(topology: Topology) -> list[Tree]:
    """Dimension-order routes. Each ring of a dimension avoids a different node, which balances the load."""
    here = topology.coordinates
    rings = {
        length: tree_search(build("ring" if topology.is_wrapped else "line", [length])).port
        for length in set(topology.size)
    }

    def port_of(dimension: int, position: Places, target: Places) -> Any:
        length = topology.size[dimension]
        shift = here.sum(axis=1)[:, None] - position if topology.is_wrapped else 0
        return 2 * dimension + rings[length][(position - shift) % length, (target - shift) % length]

    return trees_of(by_dimension(here, port_of, NO_ROUTE))


def _up_down(topology: Topology, order: Sequence[int]) -> list[Tree]:
    """Up*/down* routes; up is towards the start of `order`.

    A packet goes down wherever a path that only goes down exists, since it may have gone down before; otherwise up.
    """
    peer = topology.peer.tolist()
    place = {node: number for number, node in enumerate(order)}
    ups = [
        [link for link, other in enumerate(peer[node]) if other >= 0 and place[other] < place[node]] for node in order
    ]
    downs: list[list[Edge]] = [[] for _ in order]  # by node: (node, link) pairs that lead down to it
    for node in order:
        for link, other in enumerate(peer[node]):
            if other >= 0 and place[node] < place[other]:
                downs[other].append((node, link))
    trees = []
    for destination in range(topology.nodes):
        tree, far = [-1] * topology.nodes, [-1] * topology.nodes
        far[destination] = 0
        front = [destination]
        for there in front:  # grows during iteration
            for node, link in downs[there]:
                if far[node] < 0:
                    tree[node], far[node] = link, far[there] + 1
                    front.append(node)
        for node, above in zip(order, ups, strict=True):  # upper nodes first
            if far[node] < 0:
                far[node], tree[node] = min((far[peer[node][link]] + 1, link) for link in above)
        trees.append(tree)
    return trees


def trees_of(port: Bytes) -> list[Tree]:
    """Returns a tree per destination, from tables of ports by node and destination."""
    trees: list[Tree] = np.where(np.eye(len(port), dtype=bool), -1, port.astype(int)).T.tolist()
    return trees


class _Search:
    """One tree of paths per destination, and their turns: pairs of consecutive directed links, numbered node * links +
    link."""

    def __init__(self, topology: Topology, trees: list[Tree]) -> None:
        self.nodes, self.links = topology.nodes, topology.link_ports
        self.peer = topology.peer.tolist()
        self.coming: list[list[Edge]] = [[] for _ in range(self.nodes)]  # by node: (node, link) pairs that lead to it
        for node, peers in enumerate(self.peer):
            for link, other in enumerate(peers):
                if other >= 0:
                    self.coming[other].append((node, link))
        self.shortest = topology.distances.tolist()
        self.least_hops = sum(map(sum, self.shortest))
        self.even_load = float(loads.by_shortest_paths(topology).max())
        self.trees, self.far = trees, [[0] * self.nodes] * self.nodes
        self.load = [0] * (self.nodes * self.links)
        self.turns: dict[Edge, int] = {}
        for destination, tree in enumerate(trees):
            self._take(destination, tree)

    @property
    def hops(self) -> int:
        return sum(map(sum, self.far))

    @property
    def cost(self) -> tuple[bool, float, int]:
        longer = self.hops / self.least_hops
        return longer > 1, longer + _LOAD * max(self.load) / self.even_load, sum(load * load for load in self.load)

    @property
    def is_best(self) -> bool:
        return self.hops == self.least_hops and max(self.load) <= self.even_load

    def pass_over(self) -> None:
        """Tries another tree for each destination in turn, and repeats while the cost decreases."""
        for _ in range(_PASSES):
            # destinations with the longest detours first
            excess = [sum(far) - sum(row) for far, row in zip(self.far, self.shortest, strict=True)]
            before = self.cost
            for destination in sorted(range(self.nodes), key=lambda d: (-excess[d], d)):
                self._try([destination])
            if self.cost >= before:
                break

    def try_some(self) -> None:
        """Tries other trees for random sets of destinations; the random sequence is fixed."""
        random = Random(0)
        for _ in range(min(_TRIES, _TRIED_NODES // self.nodes)):
            if self.is_best:
                break
            self._try(random.sample(range(self.nodes), random.randint(1, max(1, self.nodes // 3))))

    def _try(self, destinations: Sequence[int]) -> None:
        """Replaces the trees of some destinations unless the cost increases."""
        before, trees = self.cost, [self.trees[destination] for destination in destinations]
        for destination in destinations:
            self._count(destination, -1)
        grown = 0
        for destination in destinations:
            if not (tree := self._grow(destination)):
                break
            self._take(destination, tree)
            grown += 1
        if grown == len(destinations) and self.cost <= before:
            return
        for destination in destinations[:grown]:
            self._count(destination, -1)
        for destination, tree in zip(destinations, trees, strict=True):
            self._take(destination, tree)

    def _take(self, destination: int, tree: Tree) -> None:
        far = [-1] * self.nodes
        far[destination] = 0
        front = [destination]
        for there in front:  # grows during iteration
            for node, link in self.coming[there]:
                if tree[node] == link:
                    far[node] = far[there] + 1
                    front.append(node)
        self.trees[destination], self.far[destination] = tree, far
        self._count(destination, 1)

    def _count(self, destination: int, by: int) -> None:
        """Adds (`by` = 1) or removes (`by` = -1) a tree's turns and load."""
        tree, far = self.trees[destination], self.far[destination]
        passing = [1] * self.nodes
        for node in sorted(range(self.nodes), key=far.__getitem__, reverse=True):
            if node == destination:
                continue
            link = node * self.links + tree[node]
            there = self.peer[node][tree[node]]
            self.load[link] += by * passing[node]
            passing[there] += passing[node]
            if there != destination:
                turn = (link, there * self.links + tree[there])
                self.turns[turn] = self.turns.get(turn, 0) + by
                if not self.turns[turn]:
                    del self.turns[turn]

    def _grow(self, destination: int) -> Tree | None:
        """Grows a tree from a destination outwards, without closing a cycle; None if it cannot reach all nodes."""
        turns = AcyclicGraph(self.nodes * self.links, self.turns)
        tree = [-1] * self.nodes
        done = {destination}
        front = [destination]
        while front and len(done) < self.nodes:
            options: dict[int, list[tuple[bool, int, int]]] = {}
            for there in front:
                after = there * self.links + tree[there]
                for node, link in self.coming[there]:
                    if node not in done:
                        before = node * self.links + link
                        new = there != destination and (before, after) not in self.turns
                        options.setdefault(node, []).append((new, self.load[before], link))
            front = []
            for node in sorted(options):
                for _, _, link in sorted(options[node]):
                    there = self.peer[node][link]
                    if there == destination or turns.add(node * self.links + link, there * self.links + tree[there]):
                        tree[node] = link
                        front.append(node)
                        break  # remaining nodes may be reached from farther out
            done.update(front)
        return tree if len(done) == self.nodes else None
