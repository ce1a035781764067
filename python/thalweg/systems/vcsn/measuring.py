# SPDX-License-Identifier: Apache-2.0
"""Shared by operations: sizes, external ports, and the time of frames on a line."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg.bench.operation import Sizes, parse_sizes
from thalweg.errors import InputError
from thalweg.systems.vcsn._sim import SEGMENT_BYTES
from thalweg.systems.vcsn.cluster import WORD, Cluster

MAX_BYTES = 1 << 30
"""Maximum number of bytes moved by a measurement, which this computer must hold in memory."""


def requested_sizes(sizes: Sizes, blocks: int) -> list[int]:
    """Returns the sizes, if `blocks` blocks of each fit. Raises InputError."""
    requested = parse_sizes(sizes)
    if bad := [size for size in requested if not 0 < size <= MAX_BYTES]:
        raise InputError(f"{bad[0]} bytes; the size must be 1 to 1G")
    if bad := [size for size in requested if size * blocks > SEGMENT_BYTES]:
        raise InputError(f"{blocks} blocks of {bad[0]} bytes; the total must be below 4G")
    return requested


def check_capture(cluster: Cluster, pcap: str, runs: Sequence[object]) -> None:
    """Raises InputError if frames of several runs, or of serial links, are to be captured."""
    if pcap and cluster.is_direct:
        raise InputError(f"{cluster.name} has serial links without Ethernet frames; leave --pcap out")
    if pcap and len(runs) > 1:
        raise InputError(f"pcap needs a single run; {len(runs)} were given")


def check_port(cluster: Cluster, port: int, nodes: Sequence[int]) -> None:
    """Raises InputError if the external port does not connect all these nodes."""
    for node in nodes:
        if not 0 <= port < cluster.fpga(node).ports:
            raise InputError(f"port is {port}; node {node} has {cluster.fpga(node).ports}")
    for node in nodes[1:]:
        if not cluster.reaches((nodes[0], port), (node, port)):
            raise InputError(f"no Ethernet leads from port {port} of node {nodes[0]} to that of node {node}")


def wire_us(cluster: Cluster, size: int, port: int = 0) -> float:
    """Returns the time of a packet's frames on a line in us, from the start of the first to the end of the last."""
    full, rest = divmod(-(-size // WORD), cluster.frame_words)
    wire = full * cluster.wire_bytes(cluster.frame_words) + (cluster.wire_bytes(rest) if rest else 0)
    return (wire - cluster.gap_bytes) * 8e-3 / cluster.gbit_s(port)
