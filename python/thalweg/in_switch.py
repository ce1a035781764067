# SPDX-License-Identifier: Apache-2.0
"""Collectives of another system's ranks on the collective units of an MPI-FPGA cluster: what both clusters have to fit in."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from thalweg.cluster import of_system
from thalweg.cluster.kinds import MOST_TICKS, Assembled, ClockTable
from thalweg.errors import InputError
from thalweg.systems.mpi_fpga.cluster import Cluster as Switches

CLOCK = "clock of the switches"  #: beside those of the other cluster

Made = TypeVar("Made", bound=Assembled)


def load(name: Switches | str | Path, cluster: Assembled, ranks: int) -> Switches:
    """The switches for the first ranks of a cluster, rank r at node r. Raises InputError where they don't fit."""
    switches = of_system(Switches, name)
    if ranks > switches.topology.hosts:
        raise InputError(
            f"{ranks} ranks, and {switches.name}, which gets their collectives, has {switches.topology.hosts}"
        )
    if any(wire.down_at_us is not None for link in switches.faults for wire in link):
        raise InputError(f"links of {switches.name} go down, and collectives in them have no other way")
    if (ticks := beside(cluster, switches).ticks_per_second) > MOST_TICKS:
        raise InputError(
            f"the clocks of {cluster.name} and {switches.name} have edges in common only in ticks of {ticks / 1e12:g} THz, and "
            f"{MOST_TICKS / 1e12:.0f} THz is the most: give frequencies that share factors"
        )
    return switches


def beside(cluster: Made, switches: Switches) -> Made:
    """The cluster with the switches' clock."""
    return cluster.with_clock(CLOCK, ClockTable(frequency_mhz=switches.values.clock.frequency_mhz, phase_ns=0))
