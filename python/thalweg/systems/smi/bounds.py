# SPDX-License-Identifier: Apache-2.0
"""Times that no channel, no collective and no step of a stencil on SMI can be below: elements over the slowest part on their way, and
links' latencies, without kernels' own pipelines. In microseconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from thalweg.systems.smi import routes
from thalweg.systems.smi.cluster import Cluster

POINT_BYTES = 4  #: of the stencil
VECTOR = 16  #: points that a bank gives in a cycle (section 5.4.2)


def elements_per_us(cluster: Cluster, size: int, senders: int = 1, circuits: int = 0) -> float:
    """Elements of `size` bytes that kernels give, one a cycle each, or that packets carry on a link; where they are in `circuits`, of so
    many packets behind the one with the header."""
    node = cluster.node
    per_packet: float = node.elements_per_packet(size)
    if circuits:
        per_packet = node.packet_bytes // size * circuits / (circuits + 1)
    packets = cluster.link.gbit_s * 1e3 / (8 * node.packet_bytes)
    return min(senders * cluster.mhz, packets * per_packet)


def packet_cycles(cluster: Cluster) -> float:
    """Cycles from a packet on a link to the next one."""
    return 8 * cluster.node.packet_bytes * cluster.mhz / (cluster.link.gbit_s * 1e3)


def push_us(cluster: Cluster, elements: int, size: int, hops: int, senders: int = 1) -> float:
    """From the first push to the last pop. Elements but the last one need the rate."""
    rate = elements_per_us(cluster, size, senders, cluster.node.circuits)
    return (hops * cluster.link.latency_ns) / 1e3 + max(0, elements - senders) / rate


def collective_us(cluster: Cluster, operation: str, elements: int, size: int, far: int, ranks: int) -> float:
    """Of `elements` a rank, until the last rank's end: they come to the farthest one. Where the root's kernel gives or takes those of
    all ranks, it is one a cycle."""
    one = far * cluster.link.latency_ns / 1e3 + max(0, elements - 1) / elements_per_us(cluster, size)
    if operation in ("scatter", "gather"):
        return max(one, (elements * ranks - 1) / cluster.mhz)
    return one


def memory_us(cluster: Cluster, points: int, banks: int) -> float:
    """Of a step of a rank's points, each of which is read and written once."""
    return 2 * POINT_BYTES * points / (banks * cluster.node.bank_gb * 1e3)


def halos_us(cluster: Cluster, grid: tuple[int, int], nx: int, ny: int, banks: int) -> float:
    """Of a step of apps/smi/stencil, each rank with nx rows of ny points: what its halos take, which memory hides where it takes longer.

    A kernel gives or takes a halo's elements one by one. A link carries the packets of all halos whose routes go over it. And ranks wait
    for each other: the southern one of two begins a step when it has the whole last row of the northern one, which ends its step vector by
    vector as it gets the first row of the southern one: in two steps there are two ways, a row and a vector.
    """
    packet = packet_cycles(cluster) / cluster.mhz
    per_packet = cluster.node.elements_per_packet(POINT_BYTES)
    rate = elements_per_us(cluster, POINT_BYTES)
    packets: Counter[tuple[int, int]] = Counter()
    longest = 0.0
    for source, destination, elements in _halos(grid, nx, ny):
        path = _path(cluster, source, destination)
        packets.update(dict.fromkeys(path, -(-elements // per_packet)))
        is_row = abs(destination - source) == grid[1]
        turn = (elements + VECTOR * banks) / 2 / rate if is_row else 0.0
        longest = max(longest, elements / cluster.mhz, len(path) * cluster.link.latency_ns / 1e3 + turn)
    return max(longest, packet * max(packets.values(), default=0))


def inequality_us(cluster: Cluster, nx: int, ny: int, banks: int) -> tuple[float, float]:
    """The two sides of section 5.4.2's inequality: halos of one point are hidden where the first one is not the smaller.

    On the left what is no halo, over the rate at which banks can be read while as much is written; on the right all halos, sent and
    received, over what a kernel or a link carries of one. It has neither latencies nor that neighbours have links of their own.
    """
    memory = banks * cluster.node.bank_gb * 1e3 / (2 * POINT_BYTES)
    return (nx - 2) * (ny - 2) / memory, 4 * (nx + ny) / elements_per_us(cluster, POINT_BYTES)


def _halos(grid: tuple[int, int], nx: int, ny: int) -> Iterator[tuple[int, int, int]]:
    """From which rank, to which one, and of how many elements."""
    rows, columns = grid
    for rank in range(rows * columns):
        if rank % columns < columns - 1:
            yield rank, rank + 1, nx
            yield rank + 1, rank, nx
        if rank // columns < rows - 1:
            yield rank, rank + columns, ny
            yield rank + columns, rank, ny


def _path(cluster: Cluster, source: int, destination: int) -> list[tuple[int, int]]:
    """The links from one rank to another: each by the rank that sends, and its number there."""
    path = []
    while source != destination:
        (link,) = np.flatnonzero(cluster.send_tables[source, :, destination] == routes.TO_LINK)
        path.append((source, int(link)))
        source = int(cluster.topology.peer[source, link])
    return path
