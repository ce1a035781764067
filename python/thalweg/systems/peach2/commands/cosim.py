# SPDX-License-Identifier: Apache-2.0
"""`thalweg rtl cosim` of a cluster of hubs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from thalweg.commands.random_programs import cosim_command
from thalweg.systems.peach2 import cosim
from thalweg.systems.peach2.cluster import Cluster
from thalweg.systems.peach2.programs import Outcome


def _totals(cluster: Cluster, outcomes: Sequence[Outcome]) -> Mapping[str, int]:
    return {
        "operations": sum(len(outcome.times) for outcome in outcomes),
        "hub-cycles": cluster.topology.nodes
        * sum(max((end for _, end, _ in outcome.times), default=0) for outcome in outcomes),
        "refused": sum(outcome.refused for outcome in outcomes),
        "stopped": sum(bool(outcome.said) for outcome in outcomes),
    }


command = cosim_command(
    Cluster.load,
    cosim.compare,
    _totals,
    """Compare a cluster's RTL hubs with the simulator, cycle by cycle.

    Programs are random: windows that overlap and divert some pages, contexts, operators, types, sizes, addresses and clock phase. Compared
    are all ports in every cycle, the end of each operation, the hubs' counters, and all memories, also with results of the processor. Stops
    at the first difference and prints its seed.
    """,
)
