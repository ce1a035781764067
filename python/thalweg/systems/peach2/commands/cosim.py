# SPDX-License-Identifier: Apache-2.0
"""`thalweg rtl cosim` of a cluster of hubs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from thalweg.commands.random_programs import cosim_command
from thalweg.systems.peach2 import cosim
from thalweg.systems.peach2.cluster import Cluster


def _totals(cluster: Cluster, outcomes: Sequence[cosim.Outcome]) -> Mapping[str, int]:
    return {
        "operations": sum(len(outcome.times) for outcome in outcomes),
        "hub-cycles": cluster.topology.nodes * sum(max(end for _, end in outcome.times) for outcome in outcomes),
        "refused": sum(outcome.refused for outcome in outcomes),
    }


command = cosim_command(
    Cluster.load,
    cosim.compare,
    _totals,
    """Hold the hubs of a whole cluster, a ring, against the simulator's, in every cycle, under random puts, chains and reductions.

    Windows, places, sizes and the phase of the bus's clock are random, too; some addresses are nobody's. Compared are all ports in
    every cycle, when each operation ended, what the hubs counted and all memories. The first difference ends it, with its seed.
    """,
)
