# SPDX-License-Identifier: Apache-2.0
"""What operations have in common: their sizes, external ports, and the time of frames on a line."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg.bench.operation import Sizes, parse_sizes
from thalweg.errors import InputError
from thalweg.systems.vcsn._sim import SEGMENT_BYTES
from thalweg.systems.vcsn.cluster import WORD, Cluster

MOST_BYTES = 1 << 30
"""That a measurement moves: they are in this computer's memory, too."""


def wanted_sizes(sizes: Sizes, blocks: int) -> list[int]:
    """Sizes of which `blocks` are moved. Raises InputError."""
    wanted = parse_sizes(sizes)
    if bad := [size for size in wanted if not 0 < size <= MOST_BYTES]:
        raise InputError(f"{bad[0]} bytes; they are 1 to 1G")
    if bad := [size for size in wanted if size * blocks > SEGMENT_BYTES]:
        raise InputError(f"{blocks} blocks of {bad[0]} bytes; all together have less than 4G")
    return wanted


def check_capture(cluster: Cluster, pcap: str, runs: Sequence[object]) -> None:
    """Raises InputError where a file of frames is wanted that is not of one run, or of serial links."""
    if pcap and cluster.is_direct:
        raise InputError(f"{cluster.name} has serial links, and there are no frames to capture")
    if pcap and len(runs) > 1:
        raise InputError(f"pcap is of one run; there are {len(runs)}")


def check_port(cluster: Cluster, port: int, nodes: Sequence[int]) -> None:
    """Raises InputError where an external port does not lead from each node to each other."""
    for node in nodes:
        if not 0 <= port < cluster.fpga(node).ports:
            raise InputError(f"port is {port}; node {node} has {cluster.fpga(node).ports}")
    for node in nodes[1:]:
        if not cluster.reaches((nodes[0], port), (node, port)):
            raise InputError(f"no Ethernet leads from port {port} of node {nodes[0]} to that of node {node}")


def wire_us(cluster: Cluster, size: int, port: int = 0) -> float:
    """Of the frames of a packet on a line, from the first one's begin to the last one's end."""
    full, rest = divmod(-(-size // WORD), cluster.frame_words)
    wire = full * cluster.wire_bytes(cluster.frame_words) + (cluster.wire_bytes(rest) if rest else 0)
    return (wire - cluster.gap_bytes) * 8e-3 / cluster.gbit_s(port)
