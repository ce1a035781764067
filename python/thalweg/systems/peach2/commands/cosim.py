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
    """Hold the hubs of a whole cluster, of one ring or of two, against the simulator's, in every cycle, under random programs.

    Windows overlap, and some pages go elsewhere; contexts, operators, types, sizes, places and the phase of the bus's clock are random;
    groups have their results at the same places. Compared are all ports in every cycle, when each operation ended, what the hubs counted
    and all memories, and these with what the processor computes. The first difference ends it, with its seed.
    """,
)
