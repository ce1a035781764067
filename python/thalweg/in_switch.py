# SPDX-License-Identifier: Apache-2.0
"""In-switch execution of another system's collectives on an MPI-FPGA cluster: compatibility checks of both clusters."""

from __future__ import annotations

from pathlib import Path

from thalweg.cluster import of_system
from thalweg.cluster.kinds import MAX_TICKS, AnyAssembled, Assembled, ClockTable
from thalweg.errors import InputError
from thalweg.systems.mpi_fpga.cluster import Cluster as Switches

CLOCK = "clock of the switches"  #: added to the clocks of the other cluster


def load(name: Switches | str | Path, cluster: Assembled, ranks: int) -> Switches:
    """Loads the switches for the first ranks of a cluster, rank r at node r. Raises InputError if the clusters do not
    match."""
    switches = of_system(Switches, name)
    if ranks > switches.topology.hosts:
        raise InputError(
            f"{ranks} ranks, but {switches.name}, which executes their collectives, has only {switches.topology.hosts}"
        )
    if any(wire.down_at_us is not None for link in switches.faults for wire in link):
        raise InputError(
            f"links of {switches.name} can fail, and collectives in switches cannot be rerouted; give a cluster without link failures"
        )
    if (ticks := beside(cluster, switches).ticks_per_second) > MAX_TICKS:
        raise InputError(
            f"the common tick of the clocks of {cluster.name} and {switches.name} has {ticks / 1e12:g} THz, and "
            f"{MAX_TICKS / 1e12:.0f} THz is the maximum: give frequencies with common factors"
        )
    return switches


def beside(cluster: AnyAssembled, switches: Switches) -> AnyAssembled:
    """Returns the cluster with the switches' clock added."""
    return cluster.with_clock(CLOCK, ClockTable(frequency_mhz=switches.values.clock.frequency_mhz, phase_ns=0))
