# SPDX-License-Identifier: Apache-2.0
"""Paths defined by a routing table: next places, distances, and sums along all paths.

A place is where a table is looked up: a node, or an input of a node if each input has its own table. Arrays have the
shape (places, destinations).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int32]


class Paths:
    """The paths of a routing table by place and destination."""

    def __init__(self, following: NDArray[np.integer]) -> None:
        """`following[place, destination]` is the next place; the place itself at the destination, and -1 where there is no
        route."""
        self.next: Places = following.astype(np.int32)
        self.places, self.destinations = following.shape
        self.arrived: NDArray[np.bool_] = following == np.arange(self.places)[:, None]
        self._follow = (self.next.astype(np.int64) * self.destinations + np.arange(self.destinations)).ravel()
        self.steps: Places = self._steps()
        """Number of steps to the destination; -1 if the table does not lead there."""
        self.longest = int(self.steps.max(initial=0))

    @classmethod
    def by_ports(cls, port: NDArray[np.uint8], peer: Places) -> Paths:
        """Returns the paths of a table of ports, by node and destination. `peer[node, port]` is the neighbor at a port, or
        -1."""
        everyone = np.arange(len(port))
        within = port < peer.shape[1]
        following = np.where(within, peer[everyone[:, None], np.where(within, port, 0)], -1)
        following[everyone, everyone] = everyone
        return cls(following)

    def following(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the next place, with the same destination, of pairs encoded as place x destinations + destination.

        Undefined where there is no route.
        """
        after: NDArray[np.int64] = self._follow[pairs]
        return after

    def _steps(self) -> Places:
        arrived = self.arrived.ravel()
        ahead = np.where(self.next.ravel() < 0, np.arange(arrived.size), self._follow)
        steps = (~arrived).astype(np.int32)  # from each pair to the one `ahead`, whose distance doubles
        for _ in range(self.places.bit_length()):
            if arrived[ahead].all():
                break
            steps += steps[ahead]
            ahead = ahead[ahead]
        return np.where(arrived[ahead], steps, -1).reshape(self.next.shape)

    @cached_property
    def nearest_first(self) -> list[NDArray[np.int64]]:
        """Returns the pairs (place x destinations + destination) at distance 1, 2, ..."""
        flat = self.steps.ravel()
        order = np.argsort(flat, kind="stable")
        ends = np.searchsorted(flat[order], np.arange(1, self.longest + 2))
        return [order[first:last] for first, last in zip(ends, ends[1:], strict=False)]

    def farthest_first(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yields the groups of `nearest_first` in reverse order, each with the successor of each of its pairs."""
        for pairs in reversed(self.nearest_first):
            yield pairs, self.following(pairs)

    def through(self, sources: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Returns, for each place and destination, how many paths from the chosen sources pass or start there."""
        count = sources.ravel().astype(np.int64)
        for pairs, following in self.farthest_first():
            np.add.at(count, following, count[pairs])
        return count.reshape(self.next.shape)

    def marked(self, marked: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Returns, for each place and destination, the number of marked steps on the path, including the first step."""
        count = marked.ravel().astype(np.int32)
        for pairs in self.nearest_first:
            count[pairs] += count[self.following(pairs)]
        return count.reshape(self.next.shape)

    def follow(self, source: int, destination: int) -> list[int]:
        """Returns the places from source to destination, both included; a path that does not arrive ends at its first
        repetition."""
        places = [source]
        while not self.arrived[places[-1], destination]:
            following = int(self.next[places[-1], destination])
            if following < 0:
                break
            places.append(following)
            if following in places[:-1]:
                break
        return places
