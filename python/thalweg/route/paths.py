# SPDX-License-Identifier: Apache-2.0
"""Where a routing table leads: the next node of each pair, how far it is, and sums along all paths at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Nodes = NDArray[np.int32]


class Paths:
    """The paths of a table of ports; arrays of shape (nodes, nodes), row node, column destination."""

    def __init__(self, port: NDArray[np.uint8], peer: Nodes) -> None:
        """`peer[node, port]` is the node behind a port, -1 where there is none."""
        self.nodes = nodes = len(port)
        everyone = np.arange(nodes)
        within = port < peer.shape[1]
        self.next: Nodes = np.where(within, peer[everyone[:, None], np.where(within, port, 0)], -1).astype(np.int32)
        """The node after this one; -1 where the table names no linked port. At the destination, itself."""
        self.next[everyone, everyone] = everyone
        self._follow = (self.next.astype(np.int64) * nodes + everyone).ravel()
        self.hops: Nodes = self._hops()
        """Links to the destination; -1 where following the table never gets there."""
        self.longest = int(self.hops.max())

    def _hops(self) -> Nodes:
        hops = np.full(self.nodes * self.nodes, -1, np.int32)
        hops[:: self.nodes + 1] = 0
        pending = np.flatnonzero((hops < 0) & (self.next.ravel() >= 0))
        level = 0
        while len(pending):
            arrives = hops[self._follow[pending]] == level
            if not arrives.any():
                break
            level += 1
            hops[pending[arrives]] = level
            pending = pending[~arrives]
        return hops.reshape(self.nodes, self.nodes)

    def nearest_first(self) -> Iterator[NDArray[np.int64]]:
        """The pairs node x nodes + destination that are 1, 2, ... links apart."""
        flat = self.hops.ravel()
        order = np.argsort(flat, kind="stable")
        ends = np.searchsorted(flat[order], np.arange(1, self.longest + 2))
        for first, last in zip(ends, ends[1:], strict=False):
            yield order[first:last]

    def through(self, sources: NDArray[np.bool_]) -> NDArray[np.int64]:
        """For each node and destination, how many of the chosen sources' paths pass the node or start there."""
        count = sources.ravel().astype(np.int64)
        for pairs in reversed(list(self.nearest_first())):
            count += np.bincount(self._follow[pairs], weights=count[pairs], minlength=len(count)).astype(np.int64)
        return count.reshape(self.nodes, self.nodes)

    def passing(self, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """For each source and destination, whether the path has a marked step, its own first one included."""
        flat = marked.ravel().copy()
        for pairs in self.nearest_first():
            flat[pairs] |= flat[self._follow[pairs]]
        return flat.reshape(self.nodes, self.nodes)

    def follow(self, source: int, destination: int) -> list[int]:
        """The nodes from source to destination, both included; a path that does not arrive ends where it repeats."""
        nodes = [source]
        while nodes[-1] != destination:
            following = int(self.next[nodes[-1], destination])
            if following < 0:
                break
            nodes.append(following)
            if following in nodes[:-1]:
                break
        return nodes
