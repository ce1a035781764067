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
    """Compare four boards' RTL with the simulator under random programs.

    The RTL is the whole engine, which executes calls; with --moves, it is the data path, which executes the moves of the simulator's sequencer. Operations,
    communicators, types, compression, memories, streams, sizes of receive buffers and packets, and concurrency of calls are random. Compared are all
    results (with NumPy), the addresses of memory accesses, and all frames; for ranks with one call at a time also their order at each port, and the time,
    which must be within bounds. The first difference ends the run and prints its seed. `time` is the RTL's over the simulator's.
    """,
    click.option(
        "--moves", is_flag=True, help="Compare the data path executing moves, instead of the engine executing calls."
    ),
)
