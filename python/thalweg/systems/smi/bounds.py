# SPDX-License-Identifier: Apache-2.0
"""Times that no channel, no collective and no step of a stencil on SMI can be below: elements over the slowest part on their way, and
links' latencies, without kernels' own pipelines. In microseconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from thalweg.cluster import dram
from thalweg.systems.smi import routes
from thalweg.systems.smi.cluster import Cluster

POINT_BYTES = 4  #: of the stencil
TO_NORTH, TO_EAST, TO_SOUTH, TO_WEST = range(4)  #: its ports
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


def push_paths(cluster: Cluster, peer: int, senders: int) -> list[list[tuple[int, int]]]:
    """From the first endpoints of rank 0 to another rank."""
    return [_path(cluster, 0, peer, endpoint) for endpoint in range(senders)]


def push_us(cluster: Cluster, elements: int, size: int, peer: int, senders: int = 1) -> float:
    """From the first push of rank 0 to the last pop of another rank. Elements but each sender's last one need the rate: of those whose
    packets share a link."""
    paths = push_paths(cluster, peer, senders)
    share = max(Counter(link for path in paths for link in path).values())
    rate = elements_per_us(cluster, size, share, cluster.node.circuits) * senders / share
    return (len(paths[0]) * cluster.link.latency_ns) / 1e3 + max(0, elements - senders) / rate


def collective_us(cluster: Cluster, operation: str, elements: int, size: int, far: int, ranks: int) -> float:
    """Of `elements` a rank, until the last rank's end: they come to the farthest one. Where the root's kernel gives or takes those of
    all ranks, it is one a cycle."""
    one = far * cluster.link.latency_ns / 1e3 + max(0, elements - 1) / elements_per_us(cluster, size)
    if operation in ("scatter", "gather"):
        return max(one, (elements * ranks - 1) / cluster.mhz)
    return one


def memory_us(cluster: Cluster, points: int, banks: int) -> float:
    """Of a step of a rank's points, each of which is read and written once, in the bursts of load and store units."""
    return 2 * POINT_BYTES * points / (banks * dram.copy_gb(cluster.node, cluster.node.bank_gb) * 1e3)


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
    for source, destination, port, elements in _halos(grid, nx, ny):
        # Metadata has endpoints by port, a push before the pop.
        path = _path(cluster, source, destination, 2 * port)
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


def _halos(grid: tuple[int, int], nx: int, ny: int) -> Iterator[tuple[int, int, int, int]]:
    """From which rank, to which one, by which port of apps/smi/stencil, and of how many elements."""
    rows, columns = grid
    for rank in range(rows * columns):
        if rank % columns < columns - 1:
            yield rank, rank + 1, TO_EAST, nx
            yield rank + 1, rank, TO_WEST, nx
        if rank // columns < rows - 1:
            yield rank, rank + columns, TO_SOUTH, ny
            yield rank + columns, rank, TO_NORTH, ny


def _path(cluster: Cluster, source: int, destination: int, endpoint: int) -> list[tuple[int, int]]:
    """The links from an endpoint of one rank to another rank: each by the rank that sends, and its number there."""
    path = []
    kernel = endpoint % cluster.node.links
    while source != destination:
        kernel = routes.link_of(cluster.send_tables, source, kernel, destination)
        path.append((source, kernel))
        source, kernel = int(cluster.topology.peer[source, kernel]), int(cluster.topology.peer_port[source, kernel])
    return path
