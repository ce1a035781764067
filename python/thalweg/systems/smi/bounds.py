# SPDX-License-Identifier: Apache-2.0
"""Times that no channel and no collective of SMI can be below: elements over the slowest part on their way, and links' latencies, without
kernels' own pipelines. In microseconds."""

from __future__ import annotations

from thalweg.systems.smi.cluster import HEADER_BYTES, Cluster


def elements_per_us(cluster: Cluster, size: int, senders: int = 1, circuits: int = 0) -> float:
    """Elements of `size` bytes that kernels give, one a cycle each, or that packets carry on a link; where they are in `circuits`, of so
    many packets behind the one with the header."""
    node = cluster.node
    per_packet: float = min((node.packet_bytes - HEADER_BYTES) // size, 31)
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
