# SPDX-License-Identifier: Apache-2.0
"""The paper's equations (T. Ueno, K. Sano, "VCSN", ACM TRETS 2023). Times are in seconds, sizes in bytes, rates in bytes a second."""

from __future__ import annotations

import math
from dataclasses import dataclass

LANES = 4 * 25.78125e9 / 8
"""Of a port's transceivers, with their line code."""


def dcn_rate(header: int = 64) -> float:
    """Equation 1, of a serial link: frames of 3,968 bytes with a header of flow control and a gap of 32 bytes, 64B/67B."""
    return LANES * 3968 / (3968 + header + 32) * 64 / 67


def vcsn_rate(payload: int = 9152) -> float:
    """Equation 2, of frames with so much payload: preamble, Ethernet header, VCSN header, FCS and gap, 64B/66B."""
    return LANES * payload / (payload + 8 + 14 + 4 + 4 + 12) * 64 / 66


def payload_efficiency(payload: int) -> float:
    """Section 3.4."""
    return payload / (payload + 8 + 14 + 4 + 4 + 12)


def flow_controlled_rate() -> float:
    """The dashed line of Figure 9: VCSN's frames with the header of DCN's flow control besides."""
    return LANES * 9152 / (9152 + 64 + 8 + 14 + 4 + 4 + 12) * 64 / 66


@dataclass(frozen=True)
class Parameters:
    """Table 5."""

    rate: float  #: b
    latency: float  #: l, of a link or of a switch's two
    topology: float = 1.24e-4  #: t, of setting circuit tables
    crossbar: float = 1.35e-6  #: c


VCSN = Parameters(vcsn_rate(), 8.47e-7)
DCN = Parameters(dcn_rate(), 4.91e-7, topology=0.0)

SHORT, LONG, STEP = 52e-6, 210e-6, 500e-6
"""By which a barrier is later on average after a step shorter, and longer, than 500 us (section 6.3)."""


def barrier(servers: int) -> float:
    """Equation 6, MPI_Barrier."""
    return 3.34e-5 * math.ceil(math.log2(servers)) + 5.84e-6


def host_transfer(size: float, slot: float, network: float, message: float) -> float:
    """Path C of Figure 7, from an FPGA to another by way of their servers: two copies over PCIe slots and one between servers, of these rates, and
    a message's time. The paper's dashed line of Figure 8 has the copies alone; what MPI adds for larger messages is in no numbers."""
    return size * (2 / slot + 1 / network) + message


def host_gather(servers: int, size: float, network: float, message: float) -> float:
    """MPI_Gather of MPICH, a binomial tree: a message's time in each round, and all blocks but its own at the root (R. Thakur, R. Rabenseifner, W.
    Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 2005, section 3)."""
    return math.ceil(math.log2(servers)) * message + (servers - 1) * size / network


def _late(step: float) -> float:
    return LONG if step > STEP else SHORT


def levels(nodes: int, radix: int = 36) -> int:
    """Of a fat tree of switches that holds the nodes: `radix` of them below one, half as many times each further level."""
    height, holds = 1, radix
    while holds < nodes:
        height, holds = height + 1, holds * radix // 2
    return height


def ring(nodes: int, size: float, of: Parameters, complete: float) -> float:
    """Equation 3, with `complete` the time p of a stage's completion."""
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
    """Equation 7, of `size` bytes of each node; `depth`: levels of the fat tree. Corrected, each barrier is later by what it is on average after
    the work before it: the topology's and crossbars' after short work, a stage's after its own."""
    stages = -(-(nodes - 1) // 4)
    rounds = barrier(-(-nodes // 2))
    step = of.crossbar + depth * of.latency + 2 * size / of.rate
    time = of.topology + stages * step + (stages + 2) * rounds
    if corrected:
        time += 2 * SHORT + stages * _late(step)
    return time


def gather_dcn(nodes: int, size: float, corrected: bool = True, of: Parameters = DCN) -> float:
    """The ring's counterpart of Equation 7 (Figure 11): no topology, a barrier after the crossbars and one after each stage."""
    stages = -(-(nodes - 1) // 2)
    rounds = barrier(-(-nodes // 2))
    step = of.crossbar + of.latency + size / of.rate
    time = stages * step + (stages + 1) * rounds
    if corrected:
        time += SHORT + stages * _late(step)
    return time


def gather_efficiency(nodes: int, size: float, time: float, rate: float) -> float:
    """Of the root's two ports."""
    return (nodes - 1) * size / time / (2 * rate)


def stages_dcn(nodes: int) -> int:
    return -(-(nodes - 1) // 2)


def stages_vcsn(nodes: int) -> int:
    return -(-(nodes - 1) // 4) + 1
