# SPDX-License-Identifier: Apache-2.0
"""`thalweg rtl cosim` of a cluster with virtual circuits, or of the direct network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from thalweg.commands.random_programs import cosim_command
from thalweg.systems.vcsn import cosim
from thalweg.systems.vcsn.cluster import Cluster


def _totals(cluster: Cluster, outcomes: Sequence[cosim.Outcome]) -> Mapping[str, int]:
    return {
        "cycles": sum(outcome.cycles for outcome in outcomes),
        "packets": sum(outcome.packets for outcome in outcomes),
        "dropped": sum(outcome.dropped for outcome in outcomes),
    }


command = cosim_command(
    Cluster.load,
    cosim.compare,
    _totals,
    """Compare four RTL nodes of a cluster with the simulator, cycle by cycle.

    Programs are random: sizes of buffers and frames, numbers of engines and virtual ports, link faults, circuits and crossbars that change
    under traffic, transfers, user logic, paces, multicasts, external frames and restarts. Compared are all ports in every cycle, and the
    counters. Stops at the first difference and prints its seed.
    """,
)
