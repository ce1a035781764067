# SPDX-License-Identifier: Apache-2.0
"""Routing tables of SMI's send and receive kernels (docs/smi.md), and the endpoints of a rank.

Paths come from thalweg.route.trees and are `spread` over the links of a rank; `routes_proof` proves tables of any
origin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.cluster.topology import Topology
from thalweg.errors import InputError
from thalweg.route.trees import tree_search, trees_of
from thalweg.systems.smi.spread import spread

SEND_ENTRIES, RECEIVE_ENTRIES = 256, 512  #: bytes per table
TO_LINK, TO_RECEIVE = 0, 1  #: outputs of a send kernel; from 2 on, the other send kernels
NO_ROUTE = 0xFF  #: in place of an output: packets are dropped and counted
KINDS = ("push", "pop", "broadcast", "scatter", "gather", "reduce")

Table = NDArray[np.uint8]
Links = NDArray[np.int32]


@dataclass(frozen=True)
class Endpoint:
    """An endpoint of a rank. Endpoint i is connected to the kernels of link i modulo the rank's links."""

    kind: str
    port: int

    @property
    def takes_data(self) -> bool:
        return self.kind != "push"

    @property
    def takes_control(self) -> bool:
        return self.kind != "pop"


def neighbour(own: int, other: int, first: int) -> int:
    """Returns the output number of another kernel of the rank; these outputs are in ascending order from `first` on."""
    return first + other - (other > own)


def leaves_by(topology: Topology, links: int) -> NDArray[np.int8]:
    """Returns the link by which packets leave a rank, as an array (ranks, links, ranks): rank, send kernel, destination;
    -1 at the destination.

    `links` is the number of send kernels per rank, at least the topology's links. The result is deterministic.
    """
    return spread(topology, trees_of(tree_search(topology).port), links)


def send_tables(leaves_by: NDArray[np.int8]) -> Table:
    """Returns the tables (ranks, links, SEND_ENTRIES) for `leaves_by`.

    Ranks outside of the cluster get NO_ROUTE: their packets are dropped and counted.
    """
    ranks, links, _ = leaves_by.shape
    tables = np.full((ranks, links, SEND_ENTRIES), NO_ROUTE, np.uint8)
    for own in range(links):
        outputs = [TO_LINK if link == own else neighbour(own, link, TO_RECEIVE + 1) for link in range(links)]
        by = leaves_by[:, own]
        tables[:, own, :ranks] = np.where(by < 0, TO_RECEIVE, np.array(outputs, np.uint8)[by])
    return tables


def receive_tables(endpoints: Sequence[Endpoint], links: int) -> Table:
    """Returns the tables (links, RECEIVE_ENTRIES) of a rank with these endpoints. Raises InputError if two endpoints share
    a port."""
    tables = np.zeros((links, RECEIVE_ENTRIES), np.uint8)
    takers: dict[tuple[int, bool], Endpoint] = {}
    for number, endpoint in enumerate(endpoints):
        if endpoint.kind not in KINDS:
            raise InputError(f"unknown kind of endpoint {endpoint.kind!r}; the kinds are {', '.join(KINDS)}")
        if not 0 <= endpoint.port < RECEIVE_ENTRIES // 2:
            raise InputError(f"port is {endpoint.port}; it must be 0 to {RECEIVE_ENTRIES // 2 - 1}")
        at, place = number % links, number // links
        for control, takes in enumerate((endpoint.takes_data, endpoint.takes_control)):
            if not takes:
                continue
            if other := takers.get((endpoint.port, bool(control))):
                raise InputError(f"port {endpoint.port} has two endpoints of a rank, {other.kind} and {endpoint.kind}")
            takers[endpoint.port, bool(control)] = endpoint
            entry = endpoint.port * 2 + control
            for own in range(links):
                tables[own, entry] = links + 2 * place + control if own == at else neighbour(own, at, 1)
    return tables


def link_of(tables: Table, rank: int, kernel: int, destination: int) -> int:
    """Returns the link by which a packet in a send kernel leaves the rank."""
    output = tables[rank, kernel, destination]
    found: int = kernel if output == TO_LINK else int(kernel_behind(kernel, output))
    return found


def kernel_behind(own: Any, output: Any) -> Any:
    """Returns the send kernel at an output; the inverse of `neighbour`."""
    other = output.astype(np.int64) - (TO_RECEIVE + 1)
    return other + (other >= own)


def ends(topology: Topology, links: int) -> tuple[Links, Links]:
    """Returns rank and link at each link's other end, as arrays (ranks, links); -1 if unconnected."""
    pad = ((0, 0), (0, links - topology.link_ports))
    peer = np.pad(topology.peer, pad, constant_values=-1)
    peer_link = np.pad(topology.peer_port, pad, constant_values=-1)
    return peer, peer_link
