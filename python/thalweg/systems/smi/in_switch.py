# SPDX-License-Identifier: Apache-2.0
"""Collectives of SMI's programs on the collective units of an MPI-FPGA cluster: what both clusters have to fit in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from thalweg.cluster import of_system
from thalweg.cluster.kinds import MOST_TICKS, ClockTable
from thalweg.errors import InputError
from thalweg.systems.mpi_fpga import bounds
from thalweg.systems.mpi_fpga.cluster import Cluster as Switches
from thalweg.systems.smi import metadata
from thalweg.systems.smi.cluster import Cluster

CLOCK = "clock of the switches"  #: beside those of SMI's cluster
CHANNELS = ("push", "pop")  #: which stay on SMI's network


def load(name: Switches | str | Path, cluster: Cluster, ranks: int) -> Switches:
    """The switches for the first ranks of a cluster, rank r at node r. Raises InputError where they don't fit."""
    switches = of_system(Switches, name)
    if ranks > switches.topology.hosts:
        raise InputError(
            f"{ranks} ranks, and {switches.name}, which gets their collectives, has {switches.topology.hosts}"
        )
    if any(wire.down_at_us is not None for link in switches.faults for wire in link):
        raise InputError(f"links of {switches.name} go down, and collectives of SMI have no other way")
    if (ticks := beside(cluster, switches).ticks_per_second) > MOST_TICKS:
        raise InputError(
            f"the clocks of {cluster.name} and {switches.name} have edges in common only in ticks of {ticks / 1e12:g} THz, and "
            f"{MOST_TICKS / 1e12:.0f} THz is the most: give frequencies that share factors"
        )
    return switches


def beside(cluster: Cluster, switches: Switches) -> Cluster:
    """SMI's cluster with the switches' clock."""
    return cluster.with_clock(CLOCK, ClockTable(frequency_mhz=switches.values.clock.frequency_mhz, phase_ns=0))


def split(program: metadata.Program) -> tuple[metadata.Program, metadata.Program]:
    """The program's point-to-point channels, and its collectives."""

    def only(channels: bool) -> metadata.Program:
        return replace(program, operations=tuple(of for of in program.operations if (of.type in CHANNELS) == channels))

    return only(True), only(False)


def bound_us(
    cluster: Cluster, switches: Switches, operation: str, elements: int, size: int, root: int, ranks: int
) -> float:
    """The least time of a collective of `elements` of `size` bytes a rank, in microseconds: that of kernels, which give or take one a
    cycle, the root those of all ranks in scatter and gather; or the switches'."""
    given = elements * (ranks if operation in ("scatter", "gather") else 1)
    network = bounds.Network.of(switches.fabric_config())
    ticks = bounds.collective_ticks(network, range(ranks), operation, elements * size, root)
    return max((given - 1) / cluster.mhz, ticks / switches.values.clock.frequency_mhz)
