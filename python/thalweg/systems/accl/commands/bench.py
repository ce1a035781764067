# SPDX-License-Identifier: Apache-2.0
"""Commands of `thalweg bench` on boards with ACCL's engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from thalweg.commands.in_switch import in_switch_option
from thalweg.commands.measured import Columns, Outputs, cluster_option, measure, outputs, seed_option, sizes_option
from thalweg.commands.named_files import OutputFile
from thalweg.systems.accl import operations
from thalweg.systems.accl.cluster import Cluster

_COLUMNS: Columns = (("GB/s", "gb_per_s"),)

_HELP = {
    "sendrecv": """Messages between two boards' memories, in both directions at once.

    Without rendezvous, messages are copied from receive buffers to their destination.""",
    "put": "Messages between kernels' streams of two boards, in both directions at once.",
    "copy": "Copy within a board's memory, by its engine.",
    "combine": "Elementwise sum of two operands in a board's memory.",
    "bcast": "One board's block to all boards.",
    "scatter": "One board's blocks, one to each board.",
    "gather": "All boards' blocks to one board.",
    "allgather": "All boards' blocks to all boards.",
    "reduce": "Sum of all boards' blocks to one board.",
    "allreduce": "Sum of all boards' blocks to all boards.",
    "reduce_scatter": "Sums of all boards' blocks, one block to each board.",
    "alltoall": "A different block from each board to each board.",
    "barrier": "Synchronization of all boards.",
}


def _command(name: str) -> click.Command:
    operation = operations.OPERATIONS[name]

    def body(cluster: str, outputs: Outputs, pcap: Path | None, **options: Any) -> None:
        plan = operation.plan(Cluster.load(cluster), pcap=str(pcap or ""), **options)
        measure(plan, outputs, _COLUMNS if name != "barrier" else (), before=[("ranks", "ranks")])

    body.__name__, body.__doc__ = name, _HELP[name]
    decorated: Callable[..., Any] = outputs(body)
    add = click.option(
        "--pcap", type=OutputFile(), metavar="FILE", help="Write all frames to this file; needs a single size."
    )
    decorated = seed_option("the data")(add(decorated))
    if "sizes" in operation.options:
        decorated = sizes_option("64:1M" if name in operations.OF_RANKS else "64:16M")(decorated)
    if "root" in operation.options:
        decorated = click.option("--root", type=click.IntRange(0), default=0, show_default=True, help="Rank.")(
            decorated
        )
    if "ranks" in operation.options:
        help_ = "Boards; 0: all."
        decorated = click.option("--ranks", type=click.IntRange(0), default=0, show_default=True, help=help_)(decorated)
    if "in_switch" in operation.options:
        decorated = in_switch_option(decorated)
    by = click.option(
        "--by", type=click.Choice(operations.BY), default="kernel", show_default=True, help="Caller of the engine."
    )
    return click.command(name)(cluster_option("accl-u280-udp")(by(decorated)))


COMMANDS = {name: _command(name) for name in operations.OPERATIONS}
