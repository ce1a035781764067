# SPDX-License-Identifier: Apache-2.0
"""Lower bounds of puts and reductions in us: bytes over the slowest part of the path, plus all latencies except hub
pipelines."""

from __future__ import annotations

import math
from collections.abc import Sequence

from thalweg.systems.peach2.cluster import FRAME, NOTICE, PACKET, Cluster


def rates_gb(cluster: Cluster, memory: str) -> dict[str, float]:
    """Returns the rate in GB/s of each part that the DMA controller's data pass, by name.

    A completion has 12 bytes of header and 8 of framing, and the link to the hub also carries a notice for the read.
    """
    return {
        f"{memory.upper()} reads": _memory_gb(cluster, memory),
        "host link": cluster.link_gb() * PACKET / (PACKET + 12 + FRAME + NOTICE),
        "ring link": cluster.payload_gb(),
        "DMA port": cluster.engine_gb,
    }


def bottleneck(cluster: Cluster, memory: str) -> str:
    """Returns the part that limits a put, with its rate."""
    reads = cluster.node.reads
    in_flight = {f"{reads} reads in flight": reads * PACKET / _round_ns(cluster, memory)}
    name, rate = min((rates_gb(cluster, memory) | in_flight).items(), key=lambda part: part[1])
    return f"{name}, {rate:.3g} GB/s"


def _memory_gb(cluster: Cluster, memory: str) -> float:
    return cluster.node.processor_read_gb if memory == "cpu" else cluster.node.gpu_read_gb


def _read_ns(cluster: Cluster, memory: str) -> float:
    """Returns the time from the hub's read to the first byte of its data."""
    node = cluster.node
    return 2 * node.host_link_ns + (node.processor_read_ns if memory == "cpu" else node.gpu_read_ns)


def _round_ns(cluster: Cluster, memory: str) -> float:
    """Returns the time from the hub's read to the last byte of its data."""
    return _read_ns(cluster, memory) + PACKET / _memory_gb(cluster, memory)


def _source_ns(cluster: Cluster, memory: str, count: int, gb: float = math.inf) -> float:
    """Returns the time from the hub's first read of `count` bytes to their last byte, behind a part of rate `gb`.

    Each read waits for the one before it by the maximum in flight.
    """
    waits = (count - 1) // (PACKET * cluster.node.reads)
    slowest = min(gb, *rates_gb(cluster, memory).values())
    return _read_ns(cluster, memory) + max(count / slowest, waits * _round_ns(cluster, memory))


def put_us(cluster: Cluster, count: int, hops: int, source: str, by: str) -> float:
    """Returns the bound from the start at the source's processor until the destination's processor sees the data."""
    node, link = cluster.node, cluster.link
    way = node.store_ns + node.host_link_ns + hops * link.latency_ns + node.host_link_ns + node.landing_ns
    if by == "store":
        return (way + count / cluster.payload_gb()) / 1e3
    if by == "dma":
        return (way + _source_ns(cluster, source, count)) / 1e3
    copied = node.copy_start_ns + count / node.copy_gb
    return (way + _source_ns(cluster, "cpu", count) + 2 * copied) / 1e3


def copied_us(cluster: Cluster, count: int) -> float:
    """Returns the bound of a copy between GPU and processor memory."""
    return (cluster.node.copy_start_ns + count / cluster.node.copy_gb) / 1e3


def reduce_us(cluster: Cluster, count: int, nodes: Sequence[int], record: int, by: str) -> float:
    """Returns the bound of reducing `count` bytes per node, half in each GPU, until all processors have the result."""
    node = cluster.node
    if by == "cpu":
        parts = 2 if count > record else 1
        return (parts * node.copy_start_ns + count / node.copy_gb + count / node.sum_gb) / 1e3 + copied_us(
            cluster, record
        )
    far = max(cluster.hops(nodes[0], each) for each in nodes)
    way = 2 * far * cluster.link.latency_ns  # to the root and back
    begin, end = node.store_ns + node.host_link_ns, node.host_link_ns + node.landing_ns
    data = _source_ns(cluster, "gpu", count, cluster.bus_gb) + record / cluster.bus_gb
    return (begin + data + way + end) / 1e3
