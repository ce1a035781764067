# SPDX-License-Identifier: Apache-2.0
"""`thalweg rtl cosim` of a cluster of SMI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from thalweg.commands.random_programs import cosim_command
from thalweg.systems.smi import cosim
from thalweg.systems.smi.cluster import Cluster


def _totals(cluster: Cluster, outcomes: Sequence[cosim.Outcome]) -> Mapping[str, int]:
    return {
        "elements": sum(outcome.elements for outcome in outcomes),
        "rank-cycles": sum(outcome.ranks * outcome.cycles for outcome in outcomes),
    }


command = cosim_command(
    Cluster.load,
    cosim.compare,
    _totals,
    f"""Compare a cluster's RTL ranks with the simulator, cycle by cycle.

    Programs are random messages and collectives. Clock and types are the cluster's; topology (up to 8 ranks), links, packets, buffers, R, endpoints,
    types and sizes are random. Compared are all ports in every cycle, the end of each kernel, and every element with its expected value.
    {cosim.SAME_HARDWARE} programs share a hardware configuration, which is built once. Stops at the first difference and prints its seed.
    """,
)
