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
last router is not counted, so one flit more or less in m/B does not matter; on links on which a flit takes longer than that,
it is subtracted, since a flit arrives the latency after its start. Without data, an alltoall sends nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, prod
from typing import TYPE_CHECKING, cast

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

Ticks = NDArray[np.integer]

_FAR = 1 << 30
"""Larger than any distance in ticks."""

_COLUMNS = 128
"""Nodes from which distances are computed at once."""


@dataclass(frozen=True)
class Network:
    """Input of the bounds, in bytes and ticks.

    `links` holds (node, node, latency, rate) per direction, with the same latency in both; latency is the ticks from one
    router's input to the next one's.
    """

    nodes: int
    links: Sequence[tuple[int, int, int, float]]
    lane: int = 0
    pcie_latency: int = 0
    pcie_rate: float = inf
    """Bytes per tick between host memory and node, per direction: the slower of PCIe and DMA."""
    switches: int = 0
    """Number of nodes without host, which are the last ones."""
    grid: tuple[int, ...] = ()
    """Nodes per dimension of a grid, the first dimension fastest; empty: no grid."""
    first_flit: float = 0
    """Ticks that a flit takes on the slowest link beyond those in the last router."""
    _known: dict[int, Ticks] = field(default_factory=dict, init=False, repr=False, compare=False)

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
            tuple(config.grid),
            max(0.0, FLIT_BYTES / min((rate for *_, rate in links), default=inf) - ROUTER_CYCLES),
        )

    @cached_property
    def _ends(self) -> tuple[Ticks, Ticks, Ticks]:
        """Tail, head and latency of each link."""
        ends = np.array([link[:3] for link in self.links], np.int64).reshape(-1, 3)
        return ends[:, 0], ends[:, 1], ends[:, 2]

    @cached_property
    def _by_head(self) -> tuple[Ticks, Ticks, Ticks]:
        """The links in the order of their heads, the first of each head, and these heads."""
        heads = self._ends[1]
        order = np.argsort(heads, kind="stable")
        found, first = np.unique(heads[order], return_index=True)
        return order, first, found

    def _nearest(self, start: Ticks, lengths: Ticks) -> Ticks:
        """Returns, for each node, the minimum of `start` at any node plus the path length from there, in each column."""
        if not self.links:
            return start
        order, first, heads = self._by_head
        tails = self._ends[0][order]
        lengths = lengths[order].reshape(-1, *[1] * (start.ndim - 1))
        while True:
            nearer = start.copy()
            nearer[heads] = np.minimum(start[heads], np.minimum.reduceat(start[tails] + lengths, first, axis=0))
            if np.array_equal(nearer, start):
                return start
            start = nearer

    def _from(self, nodes: Sequence[int], lengths: Ticks) -> Ticks:
        """Returns the path length to every node (columns) from each of some nodes (rows)."""
        start = np.full((self.nodes, len(nodes)), _FAR)
        start[nodes, np.arange(len(nodes))] = 0
        distances: Ticks = self._nearest(start, lengths).T
        return distances

    @cached_property
    def alike(self) -> bool:
        """True if the network looks the same from each node of its grid: each kind of link leaves all nodes."""
        if not self.grid or prod(self.grid) != self.nodes:
            return False
        tails, heads, latencies = self._ends
        places = np.stack(np.unravel_index(np.arange(self.nodes), self.grid, order="F"))
        steps = (places[:, heads] - places[:, tails]) % np.array(self.grid)[:, None]
        kinds = np.vstack([steps, latencies, [rate for *_, rate in self.links]])
        _, kind = np.unique(kinds, axis=1, return_inverse=True)
        counts = [
            np.bincount(tails[kind.ravel() == k], minlength=self.nodes) for k in range(int(kind.max(initial=-1)) + 1)
        ]
        return all((count == count[0]).all() for count in counts)

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

    def distances(self, node: int) -> Ticks:
        """Returns the ticks from a node to every node; `_FAR` without a path."""
        (distances,) = self.distances_from([node])
        return cast(Ticks, distances)

    def distances_from(self, nodes: Sequence[int]) -> Ticks:
        """Returns these for several nodes, a row each."""
        missing = [node for node in nodes if node not in self._known]
        for some in (missing[at : at + _COLUMNS] for at in range(0, len(missing), _COLUMNS)):
            self._known.update(zip(some, self._from(some, self._ends[2]).astype(np.int32), strict=True))
        return np.stack([self._known[node] for node in nodes])

    def between(self, node: int, others: Sequence[int]) -> Ticks:
        """Returns the ticks from a node to some others. Raises KeyError if there is no path to one."""
        distances: Ticks = self.distances(node)[others]
        if (distances == _FAR).any():
            raise KeyError(f"no path from node {node} to one of {others}")
        return distances

    def hops(self, node: int) -> Ticks:
        """Returns the number of links from a node to every node."""
        (hops,) = self._from([node], np.ones_like(self._ends[2]))
        return cast(Ticks, hops)


class _Ranks:
    """Ranks on their nodes, and the size of one operation: bounds of its parts, in ticks."""

    def __init__(self, network: Network, members: Sequence[int], size: int, host: bool) -> None:
        self.size, self.lane = size, network.lane
        self.network, self.members = network, members
        self.all = range(len(members))
        self.alike = network.alike and len(members) == network.nodes
        place = {node: rank for rank, node in enumerate(members)}
        self.out, self.into, self.links = np.zeros(len(members)), np.zeros(len(members)), 0.0
        for tail, head, _, rate in network.links:
            if tail in place:
                self.out[place[tail]] += rate
            if head in place:
                self.into[place[head]] += rate
            if tail in place or head in place:
                self.links += rate
        if host:
            self.out, self.into = (np.minimum(rates, network.pcie_rate) for rates in (self.out, self.into))

    @cached_property
    def each(self) -> Sequence[int]:
        """All ranks or, if they are alike, one of them: the bounds of the others are the same."""
        each = range(1) if self.alike else self.all
        self.network.distances_from([self.members[rank] for rank in each])
        return each

    def distance(self, rank: int) -> Ticks:
        """Ticks between a rank and each one."""
        return self.network.between(self.members[rank], self.members)

    def to_others(self, rank: int, of_ranks: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums of distance and `of_ranks`, for each other rank."""
        sums: NDArray[np.float64] = np.delete(self.distance(rank) + of_ranks, rank)
        return sums

    def sent(self, target: int) -> float:
        """All bytes of each other rank to one rank."""
        return float(self.to_others(target, self.size / self.out).max())

    def received(self, source: int) -> float:
        """All bytes for each other rank, from `source`."""
        return float(self.to_others(source, self.size / self.into).max())

    def spread(self, source: int) -> float:
        """From rank `source` to every other."""
        return max(float(self.distance(source).max() + self.size / self.out[source]), self.received(source))

    def combine(self, target: int) -> float:
        """From every other rank, combined, to rank `target`."""
        last = max(self.size / float(self.into[target]), self.lane)
        return max(float(self.distance(target).max()) + last, self.sent(target))

    def _in_turn(self, rank: int, rate: float) -> float:
        """A block to or from every other rank, the farthest first."""
        distances = np.sort(np.delete(self.distance(rank), rank))[::-1]
        return float((distances + np.arange(1, len(distances) + 1) * self.size / rate).max())

    def collect(self, target: int) -> float:
        """From every other rank, a block each, to rank `target`."""
        return self._in_turn(target, self.into[target])

    def distribute(self, source: int) -> float:
        """A block to every other rank, from rank `source`."""
        return self._in_turn(source, self.out[source])

    def upwards(self, inclusive: bool) -> float:
        """Every rank's operand to all ranks above it, combined on its way: in an exclusive scan not from rank 0 to 1."""
        most = 0.0
        self.network.distances_from(self.members)
        for low in self.all[:-1]:
            above = slice(low + 1, None)
            ends = np.maximum(self.size / self.out[low], self.size / self.into[above])
            combined = np.where(inclusive | (np.arange(low + 1, len(self.all)) > 1), self.lane, 0)
            most = max(most, float((self.distance(low)[above] + np.maximum(ends, combined)).max()))
        return most

    def carry(self) -> float:
        """A block from every rank to every other, over all links."""
        hops = 0
        for node in (self.members[rank] for rank in self.each):
            hops += int(self.network.hops(node)[self.members].sum())
        hops *= len(self.all) // len(self.each)
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

    def of(size: int) -> float:
        ranks = _Ranks(network, members, size, host)
        bounds = {
            "barrier": lambda: float(max(ranks.distance(r).max() for r in ranks.each)),
            "broadcast": lambda: ranks.spread(root),
            "reduce": lambda: ranks.combine(root),
            "allreduce": lambda: max(ranks.exchange(), *map(ranks.spread, ranks.each), *map(ranks.combine, ranks.each)),
            "gather": lambda: max(ranks.collect(root), ranks.sent(root)),
            "allgather": lambda: max(*map(ranks.spread, ranks.each), *map(ranks.collect, ranks.each)),
            "reduce_scatter": lambda: max(*map(ranks.distribute, ranks.each), *map(ranks.combine, ranks.each)),
            "alltoall": lambda: max(
                ranks.carry(), ranks.cross(), *map(ranks.distribute, ranks.each), *map(ranks.collect, ranks.each)
            ),
            "scan": lambda: ranks.upwards(inclusive=True),
            "exscan": lambda: ranks.upwards(inclusive=False),
            "scatter": lambda: max(ranks.distribute(root), ranks.received(root)),
        }
        return bounds[operation]()

    own = 2 * network.pcie_latency if host else 0
    return own if size == 0 and operation == "alltoall" else own + _less_first_flit(network, size, of)


def _less_first_flit(network: Network, size: int, of: Callable[[int], float]) -> float:
    """Returns the bound `of` a size, less the time of a flit on a slow link."""
    return of(size) if not network.first_flit else max(of(size) - network.first_flit, of(0))


def last_entry_ticks(network: Network, members: Sequence[int], operation: str, size: int, root: int = 0) -> float:
    """Returns the minimum ticks from the entry of the last rank, whichever it is, to the end at the last rank; host to
    host.

    Data of other ranks may already be in the network. Those of the last rank must still reach all ranks that need them,
    or, if that is itself alone, pass PCIe. Arguments as for `collective_ticks`.
    """
    if len(members) == 1:
        return 0.0

    def of(size: int) -> float:
        ranks = _Ranks(network, members, size, host=True)
        own = size / network.pcie_rate
        bounds = {
            "barrier": lambda: float(min(ranks.distance(r).max() for r in ranks.each)),
            "broadcast": lambda: own,
            "reduce": lambda: own,
            "allreduce": lambda: min(map(ranks.spread, ranks.each)),
            "gather": lambda: min((len(members) - 1) * own, float(ranks.to_others(root, size / ranks.out).min())),
            "allgather": lambda: min(map(ranks.spread, ranks.each)),
            "scatter": lambda: own,
            "reduce_scatter": lambda: min(map(ranks.distribute, ranks.each)),
            "alltoall": lambda: min(map(ranks.distribute, ranks.each)),
            "scan": lambda: own,
            "exscan": lambda: own,
        }
        return float(bounds[operation]())

    return _less_first_flit(network, size, of) + 2 * network.pcie_latency


def message_ticks(network: Network, source: int, destination: int, size: int, host: bool = False) -> float:
    """Returns the minimum ticks of a message of `size` bytes between two nodes, which uses one route."""
    rate = max(rate for tail, _, _, rate in network.links if tail == source)
    if host:
        rate = min(rate, network.pcie_rate)
    own = int(network.between(source, [destination])[0]) + (2 * network.pcie_latency if host else 0)
    return own + _less_first_flit(network, size, lambda bytes_: bytes_ / rate)
