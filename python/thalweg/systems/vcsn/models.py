# SPDX-License-Identifier: Apache-2.0
"""Equations of T. Ueno, K. Sano, "VCSN", ACM TRETS 2023. Times are in seconds, sizes in bytes, rates in bytes per second."""

from __future__ import annotations

import math
from dataclasses import dataclass

LANES = 4 * 25.78125e9 / 8
"""Raw rate of a port's transceivers, including line code."""


def dcn_rate(header: int = 64) -> float:
    """Equation 1: rate of a serial link, with frames of 3,968 bytes, a flow-control header, a gap of 32 bytes, and
    64B/67B."""
    return LANES * 3968 / (3968 + header + 32) * 64 / 67


def vcsn_rate(payload: int = 9152) -> float:
    """Equation 2: rate with frames of `payload` bytes, preamble, Ethernet and VCSN headers, FCS and gap, and 64B/66B."""
    return LANES * payload / (payload + 8 + 14 + 4 + 4 + 12) * 64 / 66


def payload_efficiency(payload: int) -> float:
    """Payload share of a frame (section 3.4)."""
    return payload / (payload + 8 + 14 + 4 + 4 + 12)


def flow_controlled_rate() -> float:
    """Dashed line of Figure 9: VCSN's frames with DCN's flow-control header in addition."""
    return LANES * 9152 / (9152 + 64 + 8 + 14 + 4 + 4 + 12) * 64 / 66


@dataclass(frozen=True)
class Parameters:
    """Parameters of Table 5."""

    rate: float  #: b
    latency: float  #: l, of a link, or of a switch's two links
    topology: float = 1.24e-4  #: t, setting circuit tables
    crossbar: float = 1.35e-6  #: c


VCSN = Parameters(vcsn_rate(), 8.47e-7)
DCN = Parameters(dcn_rate(), 4.91e-7, topology=0.0)

SHORT, LONG, STEP = 52e-6, 210e-6, 500e-6
"""Average additional time of a barrier after a step shorter, and longer, than 500 us (section 6.3)."""


def barrier(servers: int) -> float:
    """Equation 6: MPI_Barrier."""
    return 3.34e-5 * math.ceil(math.log2(servers)) + 5.84e-6


def host_transfer(size: float, slot: float, network: float, message: float) -> float:
    """Path C of Figure 7: a transfer via the servers, as two copies over PCIe slots, one between servers, and a message's
    time.

    The paper's dashed line in Figure 8 has the copies only; it gives no numbers for MPI's overhead for large messages.
    """
    return size * (2 / slot + 1 / network) + message


def host_gather(servers: int, size: float, network: float, message: float) -> float:
    """MPI_Gather of MPICH as a binomial tree: a message's time per round, and all blocks but its own at the root.

    Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH", IJHPCA
    2005, section 3.
    """
    return math.ceil(math.log2(servers)) * message + (servers - 1) * size / network


def _late(step: float) -> float:
    return LONG if step > STEP else SHORT


def levels(nodes: int, radix: int = 36) -> int:
    """Returns the levels of a fat tree for `nodes` nodes: `radix` nodes below the first switch, and half as many times per
    further level."""
    height, holds = 1, radix
    while holds < nodes:
        height, holds = height + 1, holds * radix // 2
    return height


def ring(nodes: int, size: float, of: Parameters, complete: float) -> float:
    """Equation 3; `complete` is the completion time p of a stage."""
    stages = -(-(nodes - 1) // 2)
    return of.topology + stages * (of.crossbar + of.latency + size / of.rate + complete)


def tree(nodes: int, size: float, of: Parameters, complete: float) -> float:
    """Equation 4."""
    stages = -(-(nodes - 1) // 4)
    return of.topology + -(-(nodes - 1) // 2) * size / of.rate + stages * (of.crossbar + of.latency + complete)


def relink(nodes: int, size: float, of: Parameters, complete: float) -> float:
    """Equation 5."""
    stages = -(-(nodes - 1) // 2)
    return -(-(nodes - 1) // 4) * of.topology + stages * (of.crossbar + of.latency + size / of.rate + complete)


def gather_vcsn(nodes: int, size: float, corrected: bool = True, depth: int = 1, of: Parameters = VCSN) -> float:
    """Equation 7, for `size` bytes per node, on a fat tree of `depth` levels.

    Corrected, each barrier includes its average delay after the preceding work: short for topology and crossbars, its
    own for a stage.
    """
    stages = -(-(nodes - 1) // 4)
    rounds = barrier(-(-nodes // 2))
    step = of.crossbar + depth * of.latency + 2 * size / of.rate
    time = of.topology + stages * step + (stages + 2) * rounds
    if corrected:
        time += 2 * SHORT + stages * _late(step)
    return time


def gather_dcn(nodes: int, size: float, corrected: bool = True, of: Parameters = DCN) -> float:
    """Equation 7 for a ring (Figure 11): no topology, a barrier after the crossbars and one after each stage."""
    stages = -(-(nodes - 1) // 2)
    rounds = barrier(-(-nodes // 2))
    step = of.crossbar + of.latency + size / of.rate
    time = stages * step + (stages + 1) * rounds
    if corrected:
        time += SHORT + stages * _late(step)
    return time


def gather_efficiency(nodes: int, size: float, time: float, rate: float) -> float:
    """Returns the utilization of the root's two ports."""
    return (nodes - 1) * size / time / (2 * rate)


def stages_dcn(nodes: int) -> int:
    return -(-(nodes - 1) // 2)


def stages_vcsn(nodes: int) -> int:
    return -(-(nodes - 1) // 4) + 1
