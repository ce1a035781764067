# SPDX-License-Identifier: Apache-2.0
"""Times that no put and no reduction can be below: their bytes over the slowest part on their way, and the latencies of all parts,
without hubs' own pipelines. In microseconds."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg.systems.peach2.cluster import Cluster


def source_gb(cluster: Cluster, memory: str) -> float:
    """GB/s at which the hub can get a memory's data: completions have a header of 12 bytes, and 8 more on the link."""
    node = cluster.node
    read = node.processor_read_gb if memory == "cpu" else node.gpu_read_gb
    return min(read, cluster.link_gb() * 256 / 276)


def _read_ns(cluster: Cluster, memory: str) -> float:
    """From the hub's read to the first byte of its data."""
    node = cluster.node
    return 2 * node.host_link_ns + (node.processor_read_ns if memory == "cpu" else node.gpu_read_ns)


def put_us(cluster: Cluster, count: int, hops: int, source: str, by: str) -> float:
    """From the processor's begin to when the other one sees it."""
    node, link = cluster.node, cluster.link
    way = node.store_ns + node.host_link_ns + hops * link.latency_ns + node.host_link_ns + node.landing_ns
    if by == "store":
        return (way + count / cluster.payload_gb()) / 1e3
    if by == "dma":
        rate = min(source_gb(cluster, source), cluster.payload_gb())
        return (way + _read_ns(cluster, source) + count / rate) / 1e3
    copied = node.copy_start_ns + count / node.copy_gb
    from_memory = _read_ns(cluster, "cpu") + count / min(source_gb(cluster, "cpu"), cluster.payload_gb())
    return (way + from_memory + 2 * copied) / 1e3


def copied_us(cluster: Cluster, count: int) -> float:
    """Between a GPU and the processor's memory."""
    return (cluster.node.copy_start_ns + count / cluster.node.copy_gb) / 1e3


def reduce_us(cluster: Cluster, count: int, nodes: Sequence[int], record: int, by: str) -> float:
    """Of `count` bytes on each node, half in each GPU, until all processors see the result."""
    node = cluster.node
    if by == "cpu":
        parts = 2 if count > record else 1
        return (parts * node.copy_start_ns + count / node.copy_gb + count / node.sum_gb) / 1e3 + copied_us(
            cluster, record
        )
    far = max(cluster.hops(nodes[0], each) for each in nodes)
    way = 2 * far * cluster.link.latency_ns  # to the root, and back
    begin, end = node.store_ns + node.host_link_ns, node.host_link_ns + node.landing_ns
    data = count / min(cluster.bus_gb, source_gb(cluster, "gpu")) + record / cluster.bus_gb
    return (begin + _read_ns(cluster, "gpu") + data + way + end) / 1e3
