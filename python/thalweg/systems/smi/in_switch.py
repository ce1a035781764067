# SPDX-License-Identifier: Apache-2.0
"""In-switch execution of SMI's collectives on an MPI-FPGA cluster (thalweg/in_switch.py)."""

from __future__ import annotations

from dataclasses import replace

from thalweg.systems.mpi_fpga import bounds
from thalweg.systems.mpi_fpga.cluster import Cluster as Switches
from thalweg.systems.smi import metadata
from thalweg.systems.smi.cluster import Cluster

CHANNELS = ("push", "pop")  #: these stay on SMI's network


def split(program: metadata.Program) -> tuple[metadata.Program, metadata.Program]:
    """Splits a program into its point-to-point channels and its collectives."""

    def only(channels: bool) -> metadata.Program:
        return replace(program, operations=tuple(of for of in program.operations if (of.type in CHANNELS) == channels))

    return only(True), only(False)


def bound_us(
    cluster: Cluster, switches: Switches, operation: str, elements: int, size: int, root: int, ranks: int
) -> float:
    """Returns the lower bound of a collective in us, for `elements` of `size` bytes per rank: that of kernels or of the
    switches.

    A kernel handles one element per cycle; the root, in scatter and gather, those of all ranks.
    """
    given = elements * (ranks if operation in ("scatter", "gather") else 1)
    network = bounds.Network.of(switches.fabric_config())
    ticks = bounds.collective_ticks(network, range(ranks), operation, elements * size, root)
    return max((given - 1) / cluster.mhz, ticks / switches.values.clock.frequency_mhz)
