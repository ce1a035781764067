# SPDX-License-Identifier: Apache-2.0
"""Distribution of packets over a rank's links, by the send kernel that they come from.

Each send kernel has its own table, so that packets of different endpoints, or from different links, may leave a rank by
different links. All packets of one endpoint follow one path, which preserves their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from thalweg.cluster.topology import Topology
from thalweg.route.trees import Tree

_PASSES = 2  #: maximum, over all ranks and destinations
_MANY = 64  #: ranks; larger clusters only use parallel cables, so that routing takes seconds
_SHARE = 4096  #: weight of packets from a send kernel to a destination


def spread(topology: Topology, trees: Sequence[Tree], links: int) -> NDArray[np.int8]:
    """Returns the link by which packets leave a rank, as an array (ranks, links, ranks): rank, send kernel, destination;
    -1 at the destination.

    Starts from one tree per destination. Then single send kernels change to other links with equal distance to the
    destination, while turns form no cycle and the maximum load does not increase. Each change must lower the sum of
    squares of link loads, per destination and in total.
    """
    made = _Spread(topology, trees, links)
    made.improve()
    return np.array(made.leaves_by, np.int8)


class _Spread:
    """Link loads and turns if every send kernel of every rank sends packets to every destination."""

    def __init__(self, topology: Topology, trees: Sequence[Tree], links: int) -> None:
        self.ranks, self.links = topology.nodes, links
        self.peer, self.peer_link = topology.peer.tolist(), topology.peer_port.tolist()
        self.far = [[self._hops(rank, tree) for tree in trees] for rank in range(self.ranks)]
        # a packet that arrives by link i enters send kernel i
        self.leaves_by = [[[tree[rank] for tree in trees] for _ in range(links)] for rank in range(self.ranks)]
        self.arriving = [[[0] * self.ranks for _ in range(links)] for _ in range(self.ranks)]
        self.load = [0] * (self.ranks * links)
        self.part = [[0] * self.ranks for _ in self.load]  # part of a link's load, by destination
        self.squares = 0
        self.turns: list[dict[int, int]] = [
            {} for _ in self.load
        ]  # by link: the next links, and how many states make that turn
        for destination in range(self.ranks):
            farthest_first = sorted(range(self.ranks), key=lambda rank: -self.far[rank][destination])
            for rank in farthest_first[:-1]:
                self._begin(rank, destination)
        self.busiest = max(self.load)

    def _hops(self, rank: int, tree: Tree) -> int:
        hops = 0
        while tree[rank] >= 0:
            rank = self.peer[rank][tree[rank]]
            hops += 1
        return hops

    def _given(self, kernel: int) -> int:
        """The first send kernels weigh slightly more, since programs with few endpoints use them, so that these get
        different links."""
        return _SHARE + self.links - 1 - 2 * kernel

    def _begin(self, rank: int, destination: int) -> None:
        """Sends packets of all send kernels of a rank over the tree's link."""
        of_kernel = [self._given(kernel) + self.arriving[rank][kernel][destination] for kernel in range(self.links)]
        way = self.leaves_by[rank][0][destination]
        link = rank * self.links + way
        self._load(link, destination, sum(of_kernel))
        there, at = self.peer[rank][way], self.peer_link[rank][way]
        if there != destination:
            self.arriving[there][at][destination] = sum(of_kernel)
            self._turn(link, there * self.links + self.leaves_by[there][at][destination], 1)

    def improve(self) -> None:
        for _ in range(_PASSES):
            before = self.squares
            for destination in range(self.ranks):
                for rank in range(self.ranks):
                    while self._improve(rank, destination):
                        pass
            if self.squares == before:
                return

    def _improve(self, rank: int, destination: int) -> bool:
        """Applies the best change of a send kernel that closes no cycle; returns False if there is none."""
        changes = (
            (self._gain(rank, kernel, destination, link), kernel, link)
            for kernel, link in self._changes(rank, destination)
        )
        for _, kernel, link in sorted(change for change in changes if change[0] < 0):
            before = self.leaves_by[rank][kernel][destination]
            turns = self._change(rank, kernel, destination, link)
            if not any(self._reaches(head, tail) for tail, head in turns):
                return True
            self._change(rank, kernel, destination, before)
        return False

    def _changes(self, rank: int, destination: int) -> Iterator[tuple[int, int]]:
        """Yields send kernels with alternative links. The send kernel of a used link keeps it, as others pass packets to
        it."""
        if rank == destination:
            return
        now = [of_kernel[destination] for of_kernel in self.leaves_by[rank]]
        for link, other in enumerate(self.peer[rank]):
            if other < 0 or self.far[other][destination] != self.far[rank][destination] - 1:
                continue
            if self.ranks > _MANY and all(self.peer[rank][used] != other for used in now):
                continue
            if link not in now:
                yield link, link
            else:
                yield from ((kernel, link) for kernel in range(self.links) if kernel not in now and now[kernel] != link)

    def _gain(self, rank: int, kernel: int, destination: int, link: int) -> int:
        """Returns the change of the sum of squares; 0 if a link would exceed the maximum load."""
        packets = self._given(kernel) + self.arriving[rank][kernel][destination]
        by = self.leaves_by[rank][kernel][destination]
        old, new = (rank, by), (rank, link)
        gain = 0
        while old != new:  # both are equally long
            for (at, way), more in ((old, -packets), (new, packets)):
                gain += self._squares(at * self.links + way, destination, more)
            if self.load[new[0] * self.links + new[1]] + packets > self.busiest:
                return 0
            (old_at, old_in), (new_at, new_in) = (
                (self.peer[at][way], self.peer_link[at][way]) for at, way in (old, new)
            )
            if old_at == destination:
                break
            old = old_at, self.leaves_by[old_at][old_in][destination]
            new = new_at, self.leaves_by[new_at][new_in][destination]
        return gain

    def _squares(self, link: int, destination: int, packets: int) -> int:
        """Returns the increase of the sum of squares. A destination's part is weighted like the total, which has as many
        parts."""
        return packets * (self.ranks * (2 * self.part[link][destination] + packets) + 2 * self.load[link] + packets)

    def _change(self, rank: int, kernel: int, destination: int, link: int) -> list[tuple[int, int]]:
        """Applies a change, and returns the new turns."""
        arriving = self.arriving[rank][kernel][destination]
        packets = self._given(kernel) + arriving
        self._add(rank, kernel, destination, -packets)
        here = rank * self.links
        before = here + self.leaves_by[rank][kernel][destination]
        self.leaves_by[rank][kernel][destination] = link
        turns = self._add(rank, kernel, destination, packets)
        if arriving:
            tail = self.peer[rank][kernel] * self.links + self.peer_link[rank][kernel]
            self._turn(tail, before, -1)
            self._turn(tail, here + link, 1)
            turns.append((tail, here + link))
        return turns

    def _add(self, rank: int, kernel: int, destination: int, packets: int) -> list[tuple[int, int]]:
        """Adds or removes packets from a send kernel on, and returns the new turns."""
        made: list[tuple[int, int]] = []
        while True:
            way = self.leaves_by[rank][kernel][destination]
            link = rank * self.links + way
            self._load(link, destination, packets)
            rank, kernel = self.peer[rank][way], self.peer_link[rank][way]
            if rank == destination:
                return made
            before = self.arriving[rank][kernel][destination]
            self.arriving[rank][kernel][destination] = before + packets
            if not before or not before + packets:
                turn = (link, rank * self.links + self.leaves_by[rank][kernel][destination])
                self._turn(*turn, 1 if not before else -1)
                made.append(turn)

    def _load(self, link: int, destination: int, packets: int) -> None:
        self.squares += self._squares(link, destination, packets)
        self.part[link][destination] += packets
        self.load[link] += packets

    def _turn(self, tail: int, head: int, by: int) -> None:
        heads = self.turns[tail]
        heads[head] = heads.get(head, 0) + by
        if not heads[head]:
            del heads[head]

    def _reaches(self, tail: int, head: int) -> bool:
        """True if turns lead from one link to another."""
        seen, pending = {tail}, [tail]
        while pending:
            at = pending.pop()
            if at == head:
                return True
            new = [link for link in self.turns[at] if link not in seen]
            seen.update(new)
            pending += new
        return False
