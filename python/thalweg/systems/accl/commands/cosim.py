# SPDX-License-Identifier: Apache-2.0
"""`thalweg rtl cosim` of a cluster of boards with ACCL's engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from thalweg.commands.random_programs import cosim_command
from thalweg.systems.accl import cosim
from thalweg.systems.accl.cluster import Cluster


def _totals(cluster: Cluster, outcomes: Sequence[cosim.Outcome]) -> Mapping[str, Any]:
    slower = [outcome.slower for outcome in outcomes if outcome.slower is not None]
    return {
        "calls": sum(outcome.calls for outcome in outcomes),
        "frames": sum(outcome.frames for outcome in outcomes),
        "time": f"{min(slower):.2f} to {max(slower):.2f}" if slower else "-",
    }


command = cosim_command(
    Cluster.load,
    cosim.compare,
    _totals,
    """Hold four boards' hardware against the simulator under random programs.

    The hardware has the whole engine, and is given calls; with --moves it is the data path alone, and carries out the moves that the simulator's sequencer makes
    of calls. Operations, communicators, types, compression, memories, streams, sizes of receive buffers and packets, and which calls are under way at once are
    random. Compared are all results (with numpy), the places of memory that are read and written, and all frames; where a rank has one call under way at a
    time, their order at each port, and the time, which lies between bounds. The first difference ends it, with its seed. `time`: the hardware's over the simulator's.
    """,
    click.option("--moves", is_flag=True, help="Give the data path moves, in place of calls to the engine."),
)
