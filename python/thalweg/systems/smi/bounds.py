# SPDX-License-Identifier: Apache-2.0
"""Lower bounds in us of channels, collectives and stencil steps: elements over the slowest part of the path, plus link
latencies.

The pipelines of transport kernels are not included. A packet arrives the link's latency after its start, so the first one's
time on the link is subtracted where it is longer than those pipelines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from thalweg.cluster import dram
from thalweg.systems.smi import routes
from thalweg.systems.smi.cluster import Cluster

POINT_BYTES = 4  #: bytes per point of the stencil
TO_NORTH, TO_EAST, TO_SOUTH, TO_WEST = range(4)  #: ports of the stencil
PIPELINE_CYCLES = 4  #: from a push to a pop at least, apart from links: endpoints, FIFOs and kernels
VECTOR = 16  #: points per cycle from a bank (section 5.4.2)


def elements_per_us(cluster: Cluster, size: int, senders: int = 1, circuits: int = 0) -> float:
    """Returns the rate of elements of `size` bytes: one per cycle and sending kernel, or the payload rate of a link.

    With `circuits`, that many packets without header follow each packet with one.
    """
    node = cluster.node
    per_packet: float = node.elements_per_packet(size)
    if circuits:
        per_packet = node.packet_bytes // size * circuits / (circuits + 1)
    packets = cluster.link.gbit_s * 1e3 / (8 * node.packet_bytes)
    return min(senders * cluster.mhz, packets * per_packet)


def packet_cycles(cluster: Cluster) -> float:
    """Returns the cycles per packet on a link."""
    return 8 * cluster.node.packet_bytes * cluster.mhz / (cluster.link.gbit_s * 1e3)


def _first_packet_us(cluster: Cluster) -> float:
    """Returns the time of a packet on a link beyond the pipelines."""
    return max(0.0, packet_cycles(cluster) - PIPELINE_CYCLES) / cluster.mhz


def push_paths(cluster: Cluster, peer: int, senders: int) -> list[list[tuple[int, int]]]:
    """Returns the paths from the first `senders` endpoints of rank 0 to another rank."""
    return [_path(cluster, 0, peer, endpoint) for endpoint in range(senders)]


def push_us(cluster: Cluster, elements: int, size: int, peer: int, senders: int = 1) -> float:
    """Returns the time from the first push at rank 0 to the last pop at another rank. Senders whose packets share a link
    share its rate."""
    paths = push_paths(cluster, peer, senders)
    share = max(Counter(link for path in paths for link in path).values())
    rate = elements_per_us(cluster, size, share, cluster.node.circuits) * senders / share
    carried = max(0.0, (elements - senders) / rate - _first_packet_us(cluster))
    return (len(paths[0]) * cluster.link.latency_ns) / 1e3 + carried


def collective_us(cluster: Cluster, operation: str, elements: int, size: int, far: int, ranks: int) -> float:
    """Returns the time of `elements` per rank until the last rank's end, over the farthest distance.

    In scatter and gather, the root's kernel handles one element per cycle of those of all ranks.
    """
    carried = max(0.0, (elements - 1) / elements_per_us(cluster, size) - _first_packet_us(cluster))
    one = far * cluster.link.latency_ns / 1e3 + carried
    if operation in ("scatter", "gather"):
        return max(one, (elements * ranks - 1) / cluster.mhz)
    return one


def memory_us(cluster: Cluster, points: int, banks: int) -> float:
    """Returns the time of a step of a rank's points, each read and written once, in the bursts of load and store units."""
    return 2 * POINT_BYTES * points / (banks * dram.copy_gb(cluster.node, cluster.node.bank_gb) * 1e3)


def halos_us(cluster: Cluster, grid: tuple[int, int], nx: int, ny: int, banks: int) -> float:
    """Returns the time of a step of apps/smi/stencil with nx rows of ny points per rank: its halos, unless memory takes
    longer.

    A kernel handles a halo's elements one by one, and a link carries all halos routed over it. Ranks also wait for each
    other: the southern of two ranks starts a step with the last row of the northern one, which ends its step as it
    receives the southern one's first row; two steps thus include two paths, a row and a vector.
    """
    packet = packet_cycles(cluster) / cluster.mhz
    per_packet = cluster.node.elements_per_packet(POINT_BYTES)
    rate = elements_per_us(cluster, POINT_BYTES)
    packets: Counter[tuple[int, int]] = Counter()
    longest = 0.0
    for source, destination, port, elements in _halos(grid, nx, ny):
        # metadata orders endpoints by port, a push before the pop
        path = _path(cluster, source, destination, 2 * port)
        packets.update(dict.fromkeys(path, -(-elements // per_packet)))
        is_row = abs(destination - source) == grid[1]
        turn = (elements + VECTOR * banks) / 2 / rate if is_row else 0.0
        longest = max(longest, elements / cluster.mhz, len(path) * cluster.link.latency_ns / 1e3 + turn)
    return max(longest, packet * max(packets.values(), default=0))


def inequality_us(cluster: Cluster, nx: int, ny: int, banks: int) -> tuple[float, float]:
    """Returns both sides of the inequality in section 5.4.2: halos of one point are hidden if the first is not smaller.

    The first is the time to read the inner points while writing as many; the second the time of all halos, sent and
    received, at the rate of one kernel or link. Latencies, and that neighbors have links of their own, are ignored.
    """
    memory = banks * cluster.node.bank_gb * 1e3 / (2 * POINT_BYTES)
    return (nx - 2) * (ny - 2) / memory, 4 * (nx + ny) / elements_per_us(cluster, POINT_BYTES)


def _halos(grid: tuple[int, int], nx: int, ny: int) -> Iterator[tuple[int, int, int, int]]:
    """Yields source rank, destination rank, port of apps/smi/stencil, and number of elements of each halo."""
    rows, columns = grid
    for rank in range(rows * columns):
        if rank % columns < columns - 1:
            yield rank, rank + 1, TO_EAST, nx
            yield rank + 1, rank, TO_WEST, nx
        if rank // columns < rows - 1:
            yield rank, rank + columns, TO_SOUTH, ny
            yield rank + columns, rank, TO_NORTH, ny


def _path(cluster: Cluster, source: int, destination: int, endpoint: int) -> list[tuple[int, int]]:
    """Returns the links from an endpoint of one rank to another rank, as pairs (sending rank, link number)."""
    path = []
    kernel = endpoint % cluster.node.links
    while source != destination:
        kernel = routes.link_of(cluster.send_tables, source, kernel, destination)
        path.append((source, kernel))
        source, kernel = int(cluster.topology.peer[source, kernel]), int(cluster.topology.peer_port[source, kernel])
    return path
