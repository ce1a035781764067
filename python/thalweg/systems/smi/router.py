# SPDX-License-Identifier: Apache-2.0
"""Router of SMI: chooses short paths that cannot deadlock without virtual channels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

from thalweg.cluster.topology import Topology, build
from thalweg.systems.smi import loads
from thalweg.systems.smi.spread import Tree, spread

_BASES = 6  #: trees of up*/down* that are improved: those with the shortest paths
_FEW = 32  #: ranks; with more of them a third of `_BASES` is improved
_PASSES = 8  #: over all destinations, at most
_TRIES = 400  #: of changing some destinations at once, at most
_TRIED_RANKS = 6_000  #: upper bound of tries times ranks
_LOAD = (
    0.1  #: weight of the busiest link's load against the average path length, both relative to those of shortest paths
)

Edge = tuple[int, int]


def route(topology: Topology, links: int) -> NDArray[np.int8]:
    """(ranks, links, ranks): the link by which packets leave a rank, by rank, send kernel, destination; -1 if the destination is the rank.

    `links` is the number of send kernels of a rank, at least the topology's links. The routes of a topology are always the same.
    """
    trees = _trees(topology)
    return spread(topology, trees, links)


def _trees(topology: Topology) -> list[Tree]:
    """A tree of paths for each destination.

    The search starts from trees whose turns form no cycle. Then each destination in turn gets another tree if it is better, with
    shorter paths or less load, and forms no cycle. The best of several starts is improved further by changing several destinations at
    once.
    """
    best: _Router | None = None
    for trees in _begun(topology):
        made = _Router(topology, trees)
        made.pass_over()
        best = made if best is None or made.cost < best.cost else best
        if best.is_best:
            break
    assert best is not None
    best.try_some()
    return best.trees


def _begun(topology: Topology) -> Iterator[list[Tree]]:
    if topology.is_grid and len(topology.size) > 1 and topology.planes == 1:
        yield _dimension_order(topology)
        if topology.nodes > _FEW:
            return
    found: dict[tuple[int, ...], tuple[int, list[Tree]]] = {}
    for root in range(topology.nodes):
        level = topology.distances[root].tolist()
        for way in (1, -1):
            order = sorted(range(topology.nodes), key=lambda rank: (level[rank], way * rank))
            if tuple(order) not in found:
                trees = _up_down(topology, order)
                found[tuple(order)] = (_Router(topology, trees).hops, trees)
    for _, trees in sorted(found.values(), key=lambda of: of[0])[: _BASES if topology.nodes <= _FEW else _BASES // 3]:
        yield trees


def _dimension_order(topology: Topology) -> list[Tree]:
    """Dimension-order routes. Each ring of a dimension leaves out another rank, which its paths do not pass, so that the load is even."""
    ranks, size = topology.nodes, topology.size
    rings: dict[int, list[Tree]] = {
        length: _trees(build("ring" if topology.is_wrapped else "line", [length])) for length in set(size)
    }
    at = topology.coordinates.tolist()

    def link(rank: int, destination: int) -> int:
        for dimension, length in enumerate(size):
            here, there = at[rank][dimension], at[destination][dimension]
            if here != there:
                shift = sum(at[rank]) - here if topology.is_wrapped else 0
                direction: int = rings[length][(there - shift) % length][(here - shift) % length]
                return 2 * dimension + direction
        return -1

    return [[link(rank, destination) for rank in range(ranks)] for destination in range(ranks)]


def _up_down(topology: Topology, order: Sequence[int]) -> list[Tree]:
    """Up*/down* routes; up leads towards the begin of the order. A packet goes down if a path that only goes down exists, since it may have gone
    down already; else it goes up."""
    peer = topology.peer.tolist()
    place = {rank: number for number, rank in enumerate(order)}
    ups = [
        [link for link, other in enumerate(peer[rank]) if other >= 0 and place[other] < place[rank]] for rank in order
    ]
    downs: list[list[Edge]] = [[] for _ in order]  # by rank: each (rank, link) that leads down to it
    for rank in order:
        for link, other in enumerate(peer[rank]):
            if other >= 0 and place[rank] < place[other]:
                downs[other].append((rank, link))
    trees = []
    for destination in range(topology.nodes):
        tree, far = [-1] * topology.nodes, [-1] * topology.nodes
        far[destination] = 0
        front = [destination]
        for there in front:  # grows during the loop
            for rank, link in downs[there]:
                if far[rank] < 0:
                    tree[rank], far[rank] = link, far[there] + 1
                    front.append(rank)
        for rank, above in zip(order, ups, strict=True):  # upper ranks come first
            if far[rank] < 0:
                far[rank], tree[rank] = min((far[peer[rank][link]] + 1, link) for link in above)
        trees.append(tree)
    return trees


class _Router:
    """Trees of paths, one per destination, and their turns: pairs of consecutive directed links, each the number rank * links + link."""

    def __init__(self, topology: Topology, trees: list[Tree]) -> None:
        self.ranks, self.links = topology.nodes, topology.link_ports
        self.peer = topology.peer.tolist()
        self.coming: list[list[Edge]] = [[] for _ in range(self.ranks)]  # by rank: each (rank, link) that leads to it
        for rank, peers in enumerate(self.peer):
            for link, other in enumerate(peers):
                if other >= 0:
                    self.coming[other].append((rank, link))
        self.shortest = topology.distances.tolist()
        self.least_hops = sum(map(sum, self.shortest))
        self.even_load = float(loads.by_shortest_paths(topology).max())
        self.trees, self.far = trees, [[0] * self.ranks] * self.ranks
        self.load = [0] * (self.ranks * self.links)
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
        """Tries another tree for each destination in turn, and repeats that while it helps."""
        for _ in range(_PASSES):
            # Destinations with the most excess length of paths come first.
            excess = [sum(far) - sum(row) for far, row in zip(self.far, self.shortest, strict=True)]
            before = self.cost
            for destination in sorted(range(self.ranks), key=lambda d: (-excess[d], d)):
                self._try([destination])
            if self.cost >= before:
                break

    def try_some(self) -> None:
        """Tries other trees for random sets of destinations, the same ones in every run."""
        random = Random(0)
        for _ in range(min(_TRIES, _TRIED_RANKS // self.ranks)):
            if self.is_best:
                break
            self._try(random.sample(range(self.ranks), random.randint(1, max(1, self.ranks // 3))))

    def _try(self, destinations: Sequence[int]) -> None:
        """Replaces the trees of some destinations if that lowers the cost or keeps it."""
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
        far = [-1] * self.ranks
        far[destination] = 0
        front = [destination]
        for there in front:  # which grows
            for rank, link in self.coming[there]:
                if tree[rank] == link:
                    far[rank] = far[there] + 1
                    front.append(rank)
        self.trees[destination], self.far[destination] = tree, far
        self._count(destination, 1)

    def _count(self, destination: int, by: int) -> None:
        """Adds (`by` = 1) or removes (-1) a tree's turns and load."""
        tree, far = self.trees[destination], self.far[destination]
        passing = [1] * self.ranks
        for rank in sorted(range(self.ranks), key=far.__getitem__, reverse=True):
            if rank == destination:
                continue
            link = rank * self.links + tree[rank]
            there = self.peer[rank][tree[rank]]
            self.load[link] += by * passing[rank]
            passing[there] += passing[rank]
            if there != destination:
                turn = (link, there * self.links + tree[there])
                self.turns[turn] = self.turns.get(turn, 0) + by
                if not self.turns[turn]:
                    del self.turns[turn]

    def _grow(self, destination: int) -> Tree | None:
        """Grows a tree for a destination, from the destination outwards, next to the existing trees; None if it cannot reach all ranks."""
        reach = _Reach(self.ranks * self.links, self.turns)
        tree = [-1] * self.ranks
        done = {destination}
        front = [destination]
        while front and len(done) < self.ranks:
            options: dict[int, list[tuple[bool, int, int]]] = {}
            for there in front:
                after = there * self.links + tree[there]
                for rank, link in self.coming[there]:
                    if rank not in done:
                        before = rank * self.links + link
                        new = there != destination and (before, after) not in self.turns
                        options.setdefault(rank, []).append((new, self.load[before], link))
            front = []
            for rank in sorted(options):
                for _, _, link in sorted(options[rank]):
                    there = self.peer[rank][link]
                    if there == destination or reach.add(rank * self.links + link, there * self.links + tree[there]):
                        tree[rank] = link
                        front.append(rank)
                        break  # ranks that are not reached from here may be reached from farther out
            done.update(front)
        return tree if len(done) == self.ranks else None


class _Reach:
    """The directed links that each directed link reaches by turns, as bits. It refuses turns that would close a cycle."""

    def __init__(self, links: int, turns: Mapping[Edge, int]) -> None:
        after: list[list[int]] = [[] for _ in range(links)]
        for tail, head in turns:
            after[tail].append(head)
        self.reach = [0] * links
        done = [False] * links
        for start in range(links):
            pending = [start]
            while pending:
                at = pending[-1]
                if done[at]:
                    pending.pop()
                    continue
                open_ = [head for head in after[at] if not done[head]]
                if open_:
                    pending += open_
                    continue
                for head in after[at]:
                    self.reach[at] |= self.reach[head] | 1 << head
                done[at] = True
                pending.pop()

    def add(self, tail: int, head: int) -> bool:
        """Adds the turn and returns True; changes nothing and returns False if the turn would close a cycle."""
        if tail == head or self.reach[head] >> tail & 1:
            return False
        more = self.reach[head] | 1 << head
        if self.reach[tail] & more != more:
            bit = 1 << tail
            for link, reached in enumerate(self.reach):
                if reached & bit:
                    self.reach[link] |= more
            self.reach[tail] |= more
        return True
