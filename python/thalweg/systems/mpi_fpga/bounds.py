# SPDX-License-Identifier: Apache-2.0
"""Lower bounds of the time of communication on a network, for any algorithm, with combining and copying in the switches.

They rest on two facts that hold on any graph. Information takes at least the hops between two nodes, each of which is a link
and the stages of a router. All data that enter or leave a node pass the node's own links: `B` is the sum of their rates,
including parallel links (2n times b on a k-ary n-cube, dimensions of size 2 included). Distances and links are those of the
given ranks, so a bound holds for any sub-communicator and for unequal dimensions; links of nodes without ranks may be used
and never weaken it. With m bytes, N ranks, and distances d in time:

barrier     the maximum d between two ranks
broadcast   the last byte that leaves the root must still reach the farthest rank: d + m/B(root); a rank starts to receive no
            sooner than d: d + m/B(rank)
reduce      the same in reverse; and d + lane, since the farthest operand is combined at least once on its path
allreduce   each rank's last operand must still reach the rank farthest from it: d + m/B, and d + lane. Further, every byte
            takes 2(N-1) transfers: until some node knows its result, each other rank has sent once; afterwards, each other
            rank receives once. All of them use links at the ranks: 2(N-1)m over the sum of those links' rates, which is
            (N-1)m/(N n b) for all nodes of a k-ary n-cube. No distance is added to this: while the first results spread, the
            last operands may still be in flight, so that no link ever has to be idle
gather      the blocks of the ranks at distance d and beyond arrive after d: d + (their number) m/B(root), for every d
scatter     gather in reverse: the blocks for the ranks at distance d and beyond have left d before the end
allgather   as gather, for every rank; and as broadcast, from every rank
reduce-     scatter of every rank's blocks; and reduce of every rank's block: a rank's part of another's result must leave it,
scatter     combined with passing data or not
scan,       a rank's data are sent to every higher rank: d + the larger of m/B at both ends and, where they are combined on
exscan      the path, a lane
alltoall    as scatter and gather, for every rank; and every block uses at least as many links as its ranks are hops apart:
            the sum of blocks times hops over the sum of all links' rates, N m k/(8b) on a whole k-ary n-cube with k even;
            and below each switch of a fat tree, the blocks of s ranks for the N-s others, s (N-s) m, over its links upwards,
            and as many downwards
message     one route, whose first link carries all: d + m/b

Host to host, PCIe's latency is added at both ends, and B is at most the rate of PCIe and the DMA. The time of a flit in the
last router is not counted, so one flit more or less in m/B does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thalweg.systems.mpi_fpga.spec import Collective

if TYPE_CHECKING:
    from thalweg.systems.mpi_fpga._sim import FabricConfig

FLIT_BYTES = 32
"""Source: the MPI-FPGA paper, section 2.5: a phit is 256 bits."""
ROUTER_CYCLES = 4
"""Source: the MPI-FPGA paper, section 4.1: the four stages of the router, a cycle each."""
SHAPES = frozenset({"ring", "torus", "line", "star", "fattree"})
"""Shapes with proved bounds: no cut is narrower, for the data across it, than those considered."""
OPERATIONS = tuple(collective.name.lower() for collective in Collective if collective)

_FAR = 1 << 40
"""Larger than any distance in ticks."""


@dataclass(frozen=True)
class Network:
    """Input of the bounds, in bytes and ticks.

    `links` holds (node, node, latency, rate) per direction; latency is the ticks from one router's input to the next
    one's.
    """

    nodes: int
    links: Sequence[tuple[int, int, int, float]]
    lane: int = 0
    pcie_latency: int = 0
    pcie_rate: float = inf
    """Bytes per tick between host memory and node, per direction: the slower of PCIe and DMA."""
    switches: int = 0
    """Number of nodes without host, which are the last ones."""
    _known: dict[int, dict[int, int]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, config: FabricConfig) -> Network:
        """Returns the network of a fabric's configuration."""
        links: list[tuple[int, int, int, float]] = []
        for link in config.links:
            rate = FLIT_BYTES * min(1.0, link.rate_flits / link.rate_cycles)
            latency = ROUTER_CYCLES + link.latency
            links += [(link.node_a, link.node_b, latency, rate), (link.node_b, link.node_a, latency, rate)]
        dma = FLIT_BYTES * config.host.dma_flits_per_cycle
        return cls(
            config.nodes,
            links,
            config.collective.lane_latency,
            config.host.pcie_latency,
            min(dma, config.host.pcie_bytes_per_tick),
            config.switches,
        )

    @cached_property
    def _ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Tail, head and latency of each link."""
        ends = np.array([link[:3] for link in self.links], np.int64).reshape(-1, 3)
        return ends[:, 0], ends[:, 1], ends[:, 2]

    def _nearest(self, start: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns, for each node, the minimum of `start` at any node plus the path length from there."""
        tails, heads, _ = self._ends
        while True:
            nearer = start.copy()
            np.minimum.at(nearer, heads, start[tails] + lengths)
            if np.array_equal(nearer, start):
                return start
            start = nearer

    def _from(self, node: int, lengths: NDArray[np.int64]) -> dict[int, int]:
        start = np.full(self.nodes, _FAR)
        start[node] = 0
        return {other: at for other, at in enumerate(self._nearest(start, lengths).tolist()) if at < _FAR}

    @cached_property
    def subtrees(self) -> list[set[int]]:
        """Connected parts below each level of switches, counted from the hosts; empty without switches."""
        tails, heads, _ = self._ends
        everyone = np.arange(self.nodes)
        level = self._nearest(np.where(everyone < self.nodes - self.switches, 0, _FAR), np.ones_like(tails))
        found: list[set[int]] = []
        for height in range(1, level[level < _FAR].max()):
            inside = (level[tails] <= height) & (level[heads] <= height)
            first = self._nearest(everyone, np.where(inside, 0, _FAR))
            found += [set(np.flatnonzero(first == node).tolist()) for node in np.unique(first[level <= height])]
        return found

    def distances(self, node: int) -> dict[int, int]:
        """Returns the ticks from a node to every reachable node."""
        if node not in self._known:
            self._known[node] = self._from(node, self._ends[2])
        return self._known[node]

    def hops(self, node: int) -> dict[int, int]:
        """Returns the number of links from a node to every reachable node."""
        return self._from(node, np.ones_like(self._ends[2]))


class _Ranks:
    """Ranks on their nodes, and the size of one operation: bounds of its parts, in ticks."""

    def __init__(self, network: Network, members: Sequence[int], size: int, host: bool) -> None:
        self.size, self.lane = size, network.lane
        self.network, self.members = network, members
        self.all = range(len(members))
        self.distance = [[network.distances(node)[other] for other in members] for node in members]
        place = {node: rank for rank, node in enumerate(members)}
        self.out, self.into, self.links = [0.0] * len(members), [0.0] * len(members), 0.0
        for tail, head, _, rate in network.links:
            if tail in place:
                self.out[place[tail]] += rate
            if head in place:
                self.into[place[head]] += rate
            if tail in place or head in place:
                self.links += rate
        if host:
            self.out = [min(rate, network.pcie_rate) for rate in self.out]
            self.into = [min(rate, network.pcie_rate) for rate in self.into]

    def others(self, rank: int) -> list[int]:
        return [other for other in self.all if other != rank]

    def sent(self, source: int, target: int) -> float:
        """All bytes of `source` to one rank."""
        return self.distance[source][target] + self.size / self.out[source]

    def received(self, source: int, target: int) -> float:
        """All bytes for one rank, from `source`."""
        return self.distance[source][target] + self.size / self.into[target]

    def spread(self, source: int) -> float:
        """From rank `source` to every other."""
        received = (self.received(source, r) for r in self.others(source))
        return max(max(self.distance[source]) + self.size / self.out[source], *received)

    def combine(self, target: int) -> float:
        """From every other rank, combined, to rank `target`."""
        farthest = max(row[target] for row in self.distance)
        last = max(self.size / self.into[target], self.lane)
        return max(farthest + last, *(self.sent(r, target) for r in self.others(target)))

    def collect(self, target: int) -> float:
        """From every other rank, a block each, to rank `target`."""
        distances = sorted((self.distance[r][target] for r in self.others(target)), reverse=True)
        return max(d + beyond * self.size / self.into[target] for beyond, d in enumerate(distances, start=1))

    def distribute(self, source: int) -> float:
        """A block to every other rank, from rank `source`."""
        distances = sorted((self.distance[source][r] for r in self.others(source)), reverse=True)
        return max(d + beyond * self.size / self.out[source] for beyond, d in enumerate(distances, start=1))

    def upwards(self, inclusive: bool) -> float:
        """Every rank's operand to all ranks above it, combined on its way: in an exclusive scan not from rank 0 to 1."""
        return max(
            self.distance[low][high]
            + max(self.size / self.out[low], self.size / self.into[high], self.lane if inclusive or high > 1 else 0)
            for high in self.all
            for low in range(high)
        )

    def carry(self) -> float:
        """A block from every rank to every other, over all links."""
        hops = 0
        for node in self.members:
            from_node = self.network.hops(node)
            hops += sum(from_node[other] for other in self.members)
        return hops * self.size / sum(rate for *_, rate in self.network.links)

    def cross(self) -> float:
        """A block from every rank to every other, out of and into each subtree."""
        longest = 0.0
        for part in self.network.subtrees:
            inside = sum(node in part for node in self.members)
            leaving = sum(rate for tail, head, _, rate in self.network.links if tail in part and head not in part)
            arriving = sum(rate for tail, head, _, rate in self.network.links if tail not in part and head in part)
            if 0 < inside < len(self.members):
                blocks = inside * (len(self.members) - inside)
                longest = max(longest, blocks * self.size / min(leaving, arriving))
        return longest

    def exchange(self) -> float:
        """2(N-1) transfers of every byte, over the links at the ranks."""
        return 2 * (len(self.all) - 1) * self.size / self.links


def collective_ticks(
    network: Network, members: Sequence[int], operation: str, size: int, root: int = 0, host: bool = False
) -> float:
    """Returns the minimum ticks from the start of `operation` to its end at the last rank.

    Rank i is on node members[i], all different; `root` is a rank. `size` in bytes is as in OSU's benchmarks: one rank's
    block for gather, allgather, scatter, reduce_scatter and alltoall, the whole buffer otherwise. With `host`, from
    host memory to host memory, else between ports of the nodes. A single rank takes no time. Raises KeyError if two
    ranks are not connected.
    """
    if len(members) == 1:
        return 0.0
    ranks = _Ranks(network, members, size, host)
    bounds = {
        "barrier": lambda: float(max(map(max, ranks.distance))),
        "broadcast": lambda: ranks.spread(root),
        "reduce": lambda: ranks.combine(root),
        "allreduce": lambda: max(ranks.exchange(), *map(ranks.spread, ranks.all), *map(ranks.combine, ranks.all)),
        "gather": lambda: max(ranks.collect(root), *(ranks.sent(r, root) for r in ranks.others(root))),
        "allgather": lambda: max(*map(ranks.spread, ranks.all), *map(ranks.collect, ranks.all)),
        "reduce_scatter": lambda: max(*map(ranks.distribute, ranks.all), *map(ranks.combine, ranks.all)),
        "alltoall": lambda: max(
            ranks.carry(), ranks.cross(), *map(ranks.distribute, ranks.all), *map(ranks.collect, ranks.all)
        ),
        "scan": lambda: ranks.upwards(inclusive=True),
        "exscan": lambda: ranks.upwards(inclusive=False),
        "scatter": lambda: max(ranks.distribute(root), *(ranks.received(root, r) for r in ranks.others(root))),
    }
    return bounds[operation]() + (2 * network.pcie_latency if host else 0)


def last_entry_ticks(network: Network, members: Sequence[int], operation: str, size: int, root: int = 0) -> float:
    """Returns the minimum ticks from the entry of the last rank, whichever it is, to the end at the last rank; host to
    host.

    Data of other ranks may already be in the network. Those of the last rank must still reach all ranks that need them,
    or, if that is itself alone, pass PCIe. Arguments as for `collective_ticks`.
    """
    if len(members) == 1:
        return 0.0
    ranks = _Ranks(network, members, size, host=True)
    own = size / network.pcie_rate
    bounds = {
        "barrier": lambda: float(min(map(max, ranks.distance))),
        "broadcast": lambda: own,
        "reduce": lambda: own,
        "allreduce": lambda: min(map(ranks.spread, ranks.all)),
        "gather": lambda: min((len(members) - 1) * own, *(ranks.sent(r, root) for r in ranks.others(root))),
        "allgather": lambda: min(map(ranks.spread, ranks.all)),
        "scatter": lambda: own,
        "reduce_scatter": lambda: min(map(ranks.distribute, ranks.all)),
        "alltoall": lambda: min(map(ranks.distribute, ranks.all)),
        "scan": lambda: own,
        "exscan": lambda: own,
    }
    return bounds[operation]() + 2 * network.pcie_latency


def message_ticks(network: Network, source: int, destination: int, size: int, host: bool = False) -> float:
    """Returns the minimum ticks of a message of `size` bytes between two nodes, which uses one route."""
    rate = max(rate for tail, _, _, rate in network.links if tail == source)
    if host:
        rate = min(rate, network.pcie_rate)
    return network.distances(source)[destination] + size / rate + (2 * network.pcie_latency if host else 0)
