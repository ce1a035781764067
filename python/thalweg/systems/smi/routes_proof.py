# SPDX-License-Identifier: Apache-2.0
"""Proof of SMI's routing tables: every packet arrives, and there is no wait-for cycle (thalweg.route.proof).

A packet passes through FIFOs: endpoint -> send kernel -> (FIFO to another send kernel ->) link -> receive kernel; at
its destination -> (FIFO to another receive kernel ->) endpoint, at other ranks -> FIFO to the send kernel. The places
of a path are kernels. Kernels skip an input whose packet cannot proceed, so a FIFO waits only for the FIFO that its
first packet needs. The proof assumes that endpoints accept all packets: kernels must pop what is pushed to them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thalweg.cluster.topology import Topology
from thalweg.route import loads, proof
from thalweg.route.paths import Paths
from thalweg.route.proof import BadRoutes
from thalweg.systems.smi.routes import SEND_ENTRIES, TO_LINK, TO_RECEIVE, Table, ends, kernel_behind


@dataclass(frozen=True)
class Proof(proof.Proof):
    longest_shortest: int
    average_shortest: float
    longer_pairs: int  #: pairs with a path that is not a shortest one
    even_load: float  #: `uniform_load` if packets were spread evenly over all shortest paths


def prove(topology: Topology, tables: Table, receive: Iterable[Table] = ()) -> Proof:
    """Proves the tables of send kernels and, if given, of each rank's receive kernels. Raises BadRoutes.

    Assumes nothing about the tables: follows them from every send kernel, as an endpoint may be at any.
    """
    ranks, links = topology.nodes, tables.shape[1]
    if tables.shape[0] != ranks or links < topology.link_ports or tables.shape[2] != SEND_ENTRIES:
        raise ValueError(f"tables of shape {tables.shape} for {ranks} ranks of {topology.link_ports} links")
    made = _Kernels(topology, tables)
    paths, channel, sources = made.paths, made.channel, made.sources
    proof.check_arrival(paths, made.place, "rank {}".format, made.why)
    for rank, of_rank in enumerate(receive):
        _check_receive(rank, of_rank)
    edges = proof.distinct(np.concatenate([proof.dependencies(paths, channel, sources), made.at_destination()]))
    proof.check_acyclic(made.channels, edges, "links and FIFOs", made.name)
    others = ~np.eye(ranks, dtype=bool)
    hops = paths.marked(channel < made.kernels)[: made.kernels].reshape(ranks, links, ranks)
    of_links = proof.loads(paths, channel, made.between_ranks)[: made.kernels]
    return Proof(
        algorithm="tables of send kernels",
        nodes=ranks,
        links=len(topology.links),
        channels=2 * len(topology.links) + 2 * ranks * links * links,
        route_classes=1,
        dependencies=len(edges),
        cycles=0,
        longest_path=int(hops.max()),
        average_path=float(hops.mean(axis=1)[others].mean()),
        uniform_load=float(of_links.max() / links / (ranks - 1)),
        longest_shortest=topology.diameter,
        average_shortest=float(topology.distances[others].mean()),
        longer_pairs=int((hops.max(axis=1) > topology.distances)[others].sum()),
        even_load=float(loads.by_shortest_paths(topology).max() / (ranks - 1)),
    )


class _Kernels:
    """The places of packets (send kernels, then receive kernels, numbered rank * links + link) and the channels that
    they enter:

    first the links, numbered rank * links + link of the send kernel that fills them, then the FIFOs from receive to send, send to
    receive, send to send, and receive to receive kernels, numbered ((sort * ranks + rank) * links + own) * links + other.
    """

    def __init__(self, topology: Topology, tables: Table) -> None:
        self.ranks, self.links = topology.nodes, tables.shape[1]
        self.peer, self.peer_link = (of.ravel() for of in ends(topology, self.links))
        self.kernels = self.ranks * self.links
        self.channels = 5 * self.kernels * self.links
        self.output = tables[:, :, : self.ranks].reshape(self.kernels, self.ranks)
        kernel, destination = np.arange(self.kernels)[:, None], np.arange(self.ranks)
        rank, own = np.divmod(kernel, self.links)
        self.is_own = rank == destination
        over = self.output == TO_LINK
        here = self.output == TO_RECEIVE
        other = kernel_behind(own, np.maximum(self.output, TO_RECEIVE + 1))
        receive = self.kernels
        behind = np.where(self.peer < 0, -1, receive + self.peer * self.links + self.peer_link)[:, None]
        to_send = np.where(self.output <= self.links, rank * self.links + other, -1)
        going = np.where(
            self.is_own, np.where(here, receive + kernel, -1), np.where(here, -1, np.where(over, behind, to_send))
        )
        self.paths = Paths(np.concatenate([going, np.where(self.is_own, receive + kernel, kernel)]))
        leaving = np.where(
            over, kernel, np.where(here, self._fifo(2, kernel, own), self._fifo(3, kernel, other % self.links))
        )
        self.channel = np.concatenate([leaving, np.broadcast_to(self._fifo(1, kernel, own), leaving.shape)])
        self.sources = np.concatenate([np.ones_like(self.is_own), np.zeros_like(self.is_own)])
        self.between_ranks = np.concatenate([~self.is_own, np.zeros_like(self.is_own)])

    def _fifo(self, kind: int, kernel: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
        number: NDArray[np.int64] = (kind * self.kernels + kernel) * self.links + other
        return number

    def at_destination(self) -> NDArray[np.int64]:
        """Edges (n, 2): a packet's last channel may wait for every other receive kernel of the rank, where its port's
        endpoint may be."""
        last = np.flatnonzero(self.paths.steps[: self.kernels].ravel() == 1)
        at = self.paths.next.ravel()[last] - self.kernels
        other = np.arange(self.links)
        tail, head = np.broadcast_arrays(self.channel.ravel()[last, None], self._fifo(4, at[:, None], other))
        edges: NDArray[np.int64] = np.stack([tail, head], axis=-1)[at[:, None] % self.links != other]
        return edges

    def place(self, place: int) -> str:
        rank, kernel = divmod(place % self.kernels, self.links)
        return f"{'send' if place < self.kernels else 'receive'} kernel {kernel} of rank {rank}"

    def why(self, place: int, destination: int) -> str:
        if self.is_own[place, destination]:
            return "it forwards its own packet"
        match self.output[place, destination]:
            case 1:
                return "it delivers the packet of another rank"
            case 0:
                return "it uses a link that does not exist"
        return f"it has no output above {self.links}"

    def name(self, channel: int) -> str:
        if channel < self.kernels:
            rank, own = divmod(channel, self.links)
            return f"link {own} of rank {rank} to rank {self.peer[channel]}"
        rest, other = divmod(channel, self.links)
        rest, own = divmod(rest, self.links)
        kind, rank = divmod(rest, self.ranks)
        match kind:
            case 1:
                return f"rank {rank}, receive kernel {own} to its send kernel"
            case 2:
                return f"rank {rank}, send kernel {own} to its receive kernel"
        return f"rank {rank}, {'send' if kind == 3 else 'receive'} kernel {own} to {other}"


def _check_receive(rank: int, tables: Table) -> None:
    """Raises BadRoutes if a receive kernel passes packets to another one that has no endpoint for them."""
    links = len(tables)
    for own, entry in np.argwhere((tables > 0) & (tables < links)).tolist():
        other = int(tables[own, entry]) - 1
        other += other >= own
        if tables[other, entry] < links:
            what = "data" if entry % 2 == 0 else "control"
            raise BadRoutes(
                f"rank {rank}: receive kernel {own} passes {what} of port {entry // 2} to {other}, which has no endpoint for it"
            )
