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
    f"""Hold the ranks of a whole cluster against the simulator's, in every cycle, under random messages and collectives.

    Of the cluster are the clock and the kinds; how many ranks, of up to 8, how they are joined, their links, packets, buffers, R, endpoints,
    types and sizes are random. Compared are all ports in every cycle, when each kernel ended, and every element with what it has to be.
    {cosim.ALIKE} programs have hardware of one sort, which is built once. The first difference ends it, with its seed.
    """,
)
