"""Times that no communication on a network can beat, for whatever algorithm, with combining and copying in the switches.

They rest on two things that hold on any graph. Information needs at least the hops between two nodes, each a link and the
stages of a router. And what enters or leaves a node passes that node's own links: `B` is the sum of their rates, links that
run side by side counted each (2n times b on a k-ary n-cube, dimensions of size 2 included). Distances and links are those of
the ranks at hand, so a bound holds for any sub-communicator and for unequal dimensions; links of nodes that hold no rank may
be used and are never counted against it. With m the bytes, N the ranks, d distances in time:

barrier     the largest d between two ranks
broadcast   the last byte to leave the root has yet to reach the farthest rank: d + m/B(root); what a rank receives begins no
            sooner than d: d + m/B(rank)
reduce      the same, backwards; and d + lane, since the farthest operand is combined at least once on its way
allreduce   each rank's last operand has yet to reach the rank farthest from it: d + m/B, and d + lane. Further, every byte
            takes 2(N-1) transfers: until some node knows its result, each other rank has sent once; from then on, each other
            rank receives once. All of them use links at the ranks: 2(N-1)m over the sum of those links' rates, which is
            (N-1)m/(N n b) for all nodes of a k-ary n-cube. No distance is added to this: while the first results spread, the
            last operands may still be under way, so that no link ever has to be idle
gather      the blocks of the ranks at distance d and beyond arrive after d: d + (their number) m/B(root), for every d
allgather   as gather, for every rank; and as broadcast, from every rank
message     one route, whose first link carries all: d + m/b

Host to host, PCIe's latency comes at both ends, and B is at most what PCIe and the DMA carry. The time that a flit spends in
the last router is not counted, so a flit more or less in m/B does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import networkx as nx

if TYPE_CHECKING:
    from thalweg._sim import FabricConfig

FLIT_BYTES = 32
"""Source: the MPI-FPGA paper, section 2.5: a phit is 256 bits."""
ROUTER_CYCLES = 4
"""Source: the MPI-FPGA paper, section 4.1: the four stages of the router, a cycle each."""
SHAPES = frozenset({"ring", "torus", "line", "star"})
"""Shapes of which no cut is narrower, for what must cross it, than the links of one node: others get no bounds."""
OPERATIONS = ("barrier", "broadcast", "reduce", "allreduce", "gather", "allgather")


@dataclass(frozen=True)
class Network:
    """What bounds depend on, in bytes and ticks.

    `links` holds (node, node, latency, rate) per direction, latency the ticks from one router's input to the next one's.
    """

    nodes: int
    links: Sequence[tuple[int, int, int, float]]
    lane: int = 0
    pcie_latency: int = 0
    pcie_rate: float = inf
    """Bytes a tick between host memory and node, each direction: the slower of PCIe and DMA."""

    @classmethod
    def of(cls, config: FabricConfig) -> Network:
        """The network of a fabric's configuration."""
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
        )


def _distances(network: Network, members: Sequence[int]) -> list[list[int]]:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(network.nodes))
    for tail, head, latency, _ in network.links:
        if not graph.has_edge(tail, head) or latency < graph[tail][head]["weight"]:
            graph.add_edge(tail, head, weight=latency)
    lengths = [nx.single_source_dijkstra_path_length(graph, node) for node in members]
    return [[lengths[i][node] for node in members] for i in range(len(members))]


def collective_ticks(
    network: Network, members: Sequence[int], operation: str, size: int, root: int = 0, host: bool = False
) -> float:
    """The least ticks from the start of `operation` to its end at the last of its ranks.

    Rank i is on node members[i], all different; `root` is a rank. `size` in bytes has OSU's meaning: one rank's block of
    gather and allgather, the whole buffer otherwise. `host`: from host memory to host memory, else from port to port of the
    nodes. One rank alone takes no time. Raises KeyError where two ranks are not connected.
    """
    ranks = len(members)
    if ranks == 1:
        return 0.0
    distance = _distances(network, members)
    place = {node: rank for rank, node in enumerate(members)}
    out, into, at_ranks = [0.0] * ranks, [0.0] * ranks, 0.0
    for tail, head, _, rate in network.links:
        if tail in place:
            out[place[tail]] += rate
        if head in place:
            into[place[head]] += rate
        if tail in place or head in place:
            at_ranks += rate
    if host:
        out = [min(rate, network.pcie_rate) for rate in out]
        into = [min(rate, network.pcie_rate) for rate in into]

    def spread(source: int) -> float:
        """From rank `source` to every other."""
        farthest = max(distance[source])
        return max(
            farthest + size / out[source], *(distance[source][r] + size / into[r] for r in range(ranks) if r != source)
        )

    def combine(target: int) -> float:
        """From every other rank, combined, to rank `target`."""
        farthest = max(row[target] for row in distance)
        return max(
            farthest + max(size / into[target], network.lane),
            *(distance[r][target] + size / out[r] for r in range(ranks) if r != target),
        )

    def collect(target: int) -> float:
        """From every other rank, a block each, to rank `target`."""
        others = sorted((distance[r][target] for r in range(ranks) if r != target), reverse=True)
        return max(d + beyond * size / into[target] for beyond, d in enumerate(others, start=1))

    bounds = {
        "barrier": lambda: float(max(map(max, distance))),
        "broadcast": lambda: spread(root),
        "reduce": lambda: combine(root),
        "allreduce": lambda: max(
            2 * (ranks - 1) * size / at_ranks, *map(spread, range(ranks)), *map(combine, range(ranks))
        ),
        "gather": lambda: max(collect(root), *(distance[r][root] + size / out[r] for r in range(ranks) if r != root)),
        "allgather": lambda: max(*map(spread, range(ranks)), *map(collect, range(ranks))),
    }
    return bounds[operation]() + (2 * network.pcie_latency if host else 0)


def message_ticks(network: Network, source: int, destination: int, size: int, host: bool = False) -> float:
    """The least ticks of a message of `size` bytes from node to node, which takes one route."""
    rate = max(rate for tail, _, _, rate in network.links if tail == source)
    if host:
        rate = min(rate, network.pcie_rate)
    distance = _distances(network, [source, destination])[0][1]
    return distance + size / rate + (2 * network.pcie_latency if host else 0)
