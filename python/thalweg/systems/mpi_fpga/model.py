# SPDX-License-Identifier: Apache-2.0
"""The engine `model`: closed forms for the time of collectives, following section 5 of the MPI-FPGA paper.

They are LogGP expressions: latency L, overheads o of sender and receiver, gap g between messages, gap G per byte, P ranks, k
bytes. The paper has them for a broadcast (Equations 3 to 6); the others follow the same reasoning. In the switch the
intermediate ranks' overheads disappear, data flow through all stages at once, and the gap between messages is zero:

    broadcast, reduce       o + k G + L + o                       Equation 4
    allreduce               o + min(k G + 2 L, log(P) k G + L) + o    up and down a tree; exchanged in log(P) stages
    barrier                 o + L + o
    gather, scatter, allgather, all-to-all (k a block)   o + (P-1) k G + L + o
    reduce-scatter (k a block)                           o + P k G + 2 L + o
    scan, exscan            o + k G + L + o

In software, at the best of the usual algorithms' costs without congestion:

    broadcast, reduce       max(floor(log P) (o + k G + L + o), o + (ceil(log P) - 1) max(g, o) + ceil(log P) k G)   Equations 3, 5
    allreduce, scan, exscan, barrier      ceil(log P) (o + k G + L + o)
    gather, scatter, allgather            ceil(log P) (o + L + o) + (P-1) k G
    all-to-all, reduce-scatter            (P-1) (o + k G + L + o)

The parameters come from the cluster: L is the time between the two ranks that are farthest apart, over links and routers; o is
the latency of PCIe, in software plus the overhead of a message, and zero kernel to kernel; G is that of one link, or host to
host that of PCIe if it is slower; g is o. If operands are combined, ceil(log P) times the adder's latency is added.

Not modelled: trees of rank numbers with paths longer than L, concurrent use of several links of a node,
contention for links, packets, descriptors, and cycles inside a node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log2

from thalweg.systems.mpi_fpga.bounds import Network

COMBINING = frozenset({"reduce", "allreduce", "reduce_scatter", "scan", "exscan"})


@dataclass(frozen=True)
class LogGP:
    """LogGP parameters, in ticks and bytes."""

    latency: float
    overhead: float
    gap: float
    gap_per_byte: float
    ranks: int
    combine: float
    """Time to combine two operands in the switch."""

    def message(self, size: float) -> float:
        """Returns the time of a message of `size` bytes."""
        return self.overhead + size * self.gap_per_byte + self.latency + self.overhead


def parameters(
    network: Network, members: Sequence[int], host: bool = False, message_overhead: int | None = None
) -> LogGP:
    """Returns the parameters for ranks on the nodes `members`; with `message_overhead` in ticks, those of software."""
    distances = (int(ticks) for node in members for ticks in network.between(node, members))
    rate = min(rate for *_, rate in network.links)
    overhead = float(network.pcie_latency if host else 0)
    if host:
        rate = min(rate, network.pcie_rate)
    if message_overhead is not None:
        overhead += message_overhead
    return LogGP(max(distances), overhead, overhead, 1 / rate, len(members), network.lane)


def in_switch_ticks(operation: str, size: int, p: LogGP) -> float:
    """Returns the time of a collective in the switches; `size` in bytes as in OSU's benchmarks. Raises KeyError for an
    unknown one."""
    if p.ranks == 1:
        return 0.0
    stages = ceil(log2(p.ranks))
    one, blocks = size * p.gap_per_byte, (p.ranks - 1) * size * p.gap_per_byte
    inside = {
        "barrier": p.latency,
        "broadcast": one + p.latency,
        "reduce": one + p.latency,
        "allreduce": min(one + 2 * p.latency, stages * one + p.latency),
        "gather": blocks + p.latency,
        "scatter": blocks + p.latency,
        "allgather": blocks + p.latency,
        "alltoall": blocks + p.latency,
        "reduce_scatter": blocks + one + 2 * p.latency,
        "scan": one + p.latency,
        "exscan": one + p.latency,
    }[operation]
    combining = stages * p.combine if operation in COMBINING else 0.0
    return p.overhead + inside + combining + p.overhead


def software_ticks(operation: str, size: int, p: LogGP) -> float:
    """Returns the time of a collective as software messages."""
    if p.ranks == 1:
        return 0.0
    stages = ceil(log2(p.ranks))
    blocks = (p.ranks - 1) * size * p.gap_per_byte

    def tree() -> float:
        leaf = floor(log2(p.ranks)) * p.message(size)
        root = p.overhead + (stages - 1) * max(p.gap, p.overhead) + stages * size * p.gap_per_byte
        return max(leaf, root)

    def doubling() -> float:
        return stages * p.message(size)

    def collecting() -> float:
        return stages * p.message(0) + blocks

    def pairwise() -> float:
        return (p.ranks - 1) * p.message(size)

    forms: dict[str, Callable[[], float]] = {
        "barrier": doubling,
        "broadcast": tree,
        "reduce": tree,
        "allreduce": doubling,
        "gather": collecting,
        "scatter": collecting,
        "allgather": collecting,
        "alltoall": pairwise,
        "reduce_scatter": pairwise,
        "scan": doubling,
        "exscan": doubling,
    }
    return forms[operation]()
