# SPDX-License-Identifier: Apache-2.0
"""Proof of SMI's route tables: every packet arrives, and no packets wait for each other in a cycle.

A packet passes through FIFOs: endpoint -> send kernel -> (FIFO to another send kernel ->) link -> receive kernel. At its destination it
continues -> (FIFO to another receive kernel ->) endpoint; at a rank on its way -> FIFO to the send kernel. Kernels skip an input whose
packet cannot leave, so a FIFO waits for another one only where its first packet goes there. The proof assumes that endpoints take what
arrives: kernels have to pop what is pushed to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.cluster.topology import Topology
from thalweg.errors import CheckFailed
from thalweg.route.acyclic import find_cycle
from thalweg.systems.smi import loads
from thalweg.systems.smi.routes import SEND_ENTRIES, TO_LINK, TO_RECEIVE, Links, Table, ends, kernel_behind


class BadRoutes(CheckFailed):
    """Tables that failed the proof; `cycle` has the FIFOs and links of a wait-for cycle."""

    def __init__(self, what: str, cycle: Sequence[str] = ()) -> None:
        super().__init__(what)
        self.cycle = list(cycle)


@dataclass(frozen=True)
class Proof:
    """Figures of tables that passed the proof. Lengths of paths are in links, over ordered pairs of different ranks."""

    ranks: int
    links: int
    channels: int  #: directed links, and FIFOs between kernels
    dependencies: int  #: pairs of channels of which one may wait for the other
    longest_path: int
    longest_shortest: int
    average_path: float
    average_shortest: float
    longer_pairs: int  #: pairs whose path is not a shortest one
    busiest_link: float  #: packets a cycle if every rank sends one a cycle, evenly to all others
    busiest_shortest: float  #: the same if packets are spread evenly over all shortest paths

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def prove(topology: Topology, tables: Table, receive: Iterable[Table] = ()) -> Proof:
    """Proves the tables of send kernels, and the tables of each rank's receive kernels, if given. Raises BadRoutes.

    The proof assumes nothing about the tables. It follows them from every send kernel, as an endpoint may be connected to each.
    """
    if tables.shape[0] != topology.nodes or tables.shape[1] < topology.link_ports or tables.shape[2] != SEND_ENTRIES:
        raise ValueError(f"tables of shape {tables.shape} for {topology.nodes} ranks of {topology.link_ports} links")
    graph = _Channels(topology, tables.shape[1])
    hops, longest = _followed(topology, tables)
    edges = graph.edges(tables)
    for rank, of_rank in enumerate(receive):
        _check_receive(rank, of_rank)
    if cycle := find_cycle(graph.count, edges):
        names = [graph.name(channel) for channel in cycle]
        raise BadRoutes(f"a cycle of {len(names)}, each of which waits for the next: {'; '.join(names)}", names)
    others = ~np.eye(topology.nodes, dtype=bool)
    worst = hops.max(axis=1)
    return Proof(
        ranks=topology.nodes,
        links=len(topology.links),
        channels=graph.used,
        dependencies=len(edges),
        longest_path=longest,
        longest_shortest=topology.diameter,
        average_path=float(hops.mean(axis=1)[others].mean()),
        average_shortest=float(topology.distances[others].mean()),
        longer_pairs=int((worst > topology.distances)[others].sum()),
        busiest_link=float(loads.by_tables(topology, tables).max() / (topology.nodes - 1)),
        busiest_shortest=float(loads.by_shortest_paths(topology).max() / (topology.nodes - 1)),
    )


class _Channels:
    """The vertices of the dependency graph: directed links, by the send kernel that fills them, and the FIFOs of ranks."""

    SORTS = ("link", "receive to send", "send to receive", "send to send", "receive to receive")

    def __init__(self, topology: Topology, links: int) -> None:
        self.peer, self.peer_link = ends(topology, links)
        self.ranks, self.links = topology.nodes, links
        self.count = self.ranks * links * links * len(self.SORTS)
        # No kernel has a FIFO to itself.
        self.used = 2 * len(topology.links) + self.ranks * (2 * links + 2 * links * (links - 1))

    def number(self, sort: int, rank: Any, one: Any, other: Any = 0) -> Any:
        return ((sort * self.ranks + rank) * self.links + one) * self.links + other

    def name(self, channel: int) -> str:
        rest, other = divmod(channel, self.links)
        rest, one = divmod(rest, self.links)
        sort, rank = divmod(rest, self.ranks)
        match sort:
            case 0:
                return f"link {one} of rank {rank} to rank {self.peer[rank, one]}"
            case 1:
                return f"rank {rank}, receive kernel {one} to its send kernel"
            case 2:
                return f"rank {rank}, send kernel {one} to its receive kernel"
        return f"rank {rank}, {'send' if sort == 3 else 'receive'} kernel {one} to {other}"

    def edges(self, tables: Table) -> NDArray[np.int64]:
        """(edges, 2): pairs of channels of which the first may wait for the second, for packets from every send kernel to every destination."""
        ranks = self.ranks
        rank, kernel, destination = (
            axis.ravel() for axis in np.meshgrid(range(ranks), range(self.links), range(ranks), indexing="ij")
        )
        first = self._first(tables, rank, kernel, destination)
        output = tables[rank, kernel, destination]
        found: list[Any] = []

        def edge(tail: Any, head: Any) -> None:
            found.append(np.stack(np.broadcast_arrays(tail, head), axis=-1).reshape(-1, 2))

        # To another send kernel of the rank.
        on = output > TO_RECEIVE
        r, d = rank[on], destination[on]
        edge(first[on], self._first(tables, r, kernel_behind(kernel[on], output[on]), d))
        # Over the link, and through the rank at its end.
        over = (output == TO_LINK) & (rank != destination)
        r, i, d, link = rank[over], kernel[over], destination[over], first[over]
        there, at = self.peer[r, i], self.peer_link[r, i]
        passes = there != d
        to_send = self.number(1, there[passes], at[passes])
        edge(link[passes], to_send)
        edge(to_send, self._first(tables, there[passes], at[passes], d[passes]))
        # At the destination, to any receive kernel, as each may have the port's endpoint.
        for other in range(self.links):
            for tail, r, i in (
                (link[~passes], there[~passes], at[~passes]),
                (first[output == TO_RECEIVE], rank[output == TO_RECEIVE], kernel[output == TO_RECEIVE]),
            ):
                away = i != other
                edge(tail[away], self.number(4, r[away], i[away], other))
        return np.unique(np.concatenate(found).astype(np.int64), axis=0)

    def _first(self, tables: Table, rank: Any, kernel: Any, destination: Any) -> Any:
        """The channel that a packet in a send kernel enters next."""
        output = tables[rank, kernel, destination]
        neighbours = self.number(3, rank, kernel, kernel_behind(kernel, np.maximum(output, 2)))
        return np.where(
            output == TO_LINK,
            self.number(0, rank, kernel),
            np.where(output == TO_RECEIVE, self.number(2, rank, kernel), neighbours),
        )


def _followed(topology: Topology, tables: Table) -> tuple[Links, int]:
    """(ranks, links, ranks): length of the path from each send kernel to each destination; and the longest. Raises BadRoutes for an
    unreachable destination."""
    ranks = topology.nodes
    links = tables.shape[1]
    peer, peer_link = ends(topology, links)
    start = np.meshgrid(range(ranks), range(links), range(ranks), indexing="ij")
    rank, kernel, destination = (axis.copy() for axis in start)
    hops = np.zeros(rank.shape, np.int32)

    def wrong(where: NDArray[np.bool_], what: str) -> None:
        if where.any():
            r, i, d = (int(axis[0]) for axis in np.nonzero(where))
            at = f"send kernel {kernel[r, i, d]} of rank {rank[r, i, d]}"
            raise BadRoutes(f"rank {d} cannot be reached from send kernel {i} of rank {r}: {at} {what}")

    own = np.arange(ranks)
    wrong(np.where(rank == destination, tables[rank, kernel, destination] != TO_RECEIVE, False), "sends it away again")
    pending = rank != destination
    for _ in range(ranks * links * 2):
        if not pending.any():
            return hops, int(hops.max())
        output = tables[rank, kernel, destination]
        wrong(pending & (output == TO_RECEIVE), "takes it for its own")
        wrong(pending & (output > links), f"has no output above {links}")
        over = pending & (output == TO_LINK)
        wrong(over & (peer[rank, kernel] < 0), "sends it to a link that is not there")
        on = pending & (output > TO_RECEIVE)
        there, at = peer[rank, kernel], peer_link[rank, kernel]
        turned = kernel_behind(kernel, np.maximum(output, 2))
        rank, kernel = np.where(over, there, rank), np.where(over, at, np.where(on, turned, kernel))
        hops += over
        pending &= rank != own
    r, i, d = (int(axis[0]) for axis in np.nonzero(pending))
    raise BadRoutes(f"rank {d} cannot be reached from send kernel {i} of rank {r}: packets go round in a loop")


def _check_receive(rank: int, tables: Table) -> None:
    """Checks that packets which a receive kernel passes to another one have an endpoint there. Raises BadRoutes."""
    links = len(tables)
    for own, entry in np.argwhere((tables > 0) & (tables < links)).tolist():
        other = int(tables[own, entry]) - 1
        other += other >= own
        if tables[other, entry] < links:
            what = "data" if entry % 2 == 0 else "control"
            raise BadRoutes(
                f"rank {rank}: receive kernel {own} hands {what} of port {entry // 2} on to {other}, which has no endpoint for it"
            )
