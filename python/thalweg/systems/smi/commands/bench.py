# SPDX-License-Identifier: Apache-2.0
"""`thalweg bench` push, injection, broadcast, reduce, scatter and gather on clusters of SMI."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from thalweg.bench.operation import Plan, Row
from thalweg.commands import completion
from thalweg.commands.output import json_option, print_line, print_table, progress_bar, write_json
from thalweg.systems.smi import operations
from thalweg.systems.smi.cluster import Cluster

Option = Callable[[Any], Any]

_cluster = click.option(
    "--cluster",
    required=True,
    shell_complete=completion.clusters,
    metavar="C",
    help="A preset such as smi-noctua, or a cluster file.",
)
_element = click.option(
    "--element",
    type=click.Choice(list(operations.BYTES)),
    default="float",
    show_default=True,
    help="Type of the elements.",
)


def _sizes(default: str) -> Option:
    return click.option(
        "--sizes",
        default=default,
        show_default=True,
        metavar="S",
        help="Bytes: 8:1M, doubling, or a list such as 8,64,1K.",
    )


def _measured(plan: Plan, json_file: Path | None, columns: Sequence[tuple[str, str]]) -> None:
    with progress_bar(click.get_current_context().info_name or "") as progress:
        rows = plan.rows(progress)
    print_line(plan.title)
    print_table([*(name for name, _ in columns), "verified"], [_cells(row, columns) for row in rows])
    write_json(json_file, rows, plan.cluster, seeds=plan.seeds)
    plan.check(rows)


def _cells(row: Row, columns: Sequence[tuple[str, str]]) -> list[Any]:
    cells = [f"{row[key]:.1%}" if key.startswith("share") else row[key] for _, key in columns]
    return [*cells, "yes" if row["verified"] else "NO"]


@click.command()
@_cluster
@_element
@click.option(
    "--senders",
    type=click.IntRange(1, operations.MOST_SENDERS),
    default=1,
    show_default=True,
    help="Kernels of rank 0 that push side by side, each at a port of its own.",
)
@click.option("--hops", type=click.IntRange(1), default=1, show_default=True, help="Links between the two ranks.")
@_sizes("8:1M")
@json_option
def push(cluster: str, json_file: Path | None, **options: Any) -> None:
    """A message from kernels of rank 0 to those of another rank, until the last element is popped.

    The bound has the links' latency and the elements over the slower of link and kernels, which push one a cycle; the last share is
    that of the elements that a link can carry, in full packets.
    """
    columns = [
        ("bytes", "bytes"),
        ("time", "time_us"),
        ("bound", "bound_us"),
        ("share", "share"),
        ("Gb/s", "gbit_per_s"),
        ("of payload", "share_of_payload"),
    ]
    _measured(operations.push(Cluster.load(cluster), **options), json_file, columns)


@click.command()
@_cluster
@click.option(
    "--reads",
    default="1,4,8,16",
    show_default=True,
    metavar="R",
    help="Of a send kernel from an input on end: a list.",
)
@click.option("--messages", type=click.IntRange(1), default=2000, show_default=True, help="To be measured over.")
@json_option
def injection(cluster: str, json_file: Path | None, **options: Any) -> None:
    """Cycles from a message of one element to the next one, with a channel at each link.

    Polling lets R packets leave in R + the number of links cycles; a link takes no more packets than its rate allows.
    """
    columns = [("R", "reads"), ("cycles", "cycles"), ("by polling", "polling_cycles"), ("by link", "link_cycles")]
    _measured(operations.inject(Cluster.load(cluster), **options), json_file, columns)


def _collective(operation: str) -> click.Command:
    columns = [("bytes", "bytes"), ("time", "time_us"), ("bound", "bound_us"), ("share", "share")]

    @_cluster
    @_element
    @click.option("--ranks", type=click.IntRange(0), default=0, help="The first ones; all where nothing is said.")
    @click.option("--root", type=click.IntRange(0), default=0, show_default=True)
    @_sizes("4:64K")
    @json_option
    def command(cluster: str, json_file: Path | None, **options: Any) -> None:
        _measured(operations.OPERATIONS[operation].plan(Cluster.load(cluster), **options), json_file, columns)

    tree = operation in ("broadcast", "reduce")
    if tree:
        command = click.option(
            "--arity",
            type=click.IntRange(0),
            help="Children of a place in the tree; 0: all are the root's, as in the paper. Otherwise the cluster's.",
        )(command)
    if operation == "reduce":
        command = click.option(
            "--any-order/--one-order",
            default=None,
            help="Contributions are combined as they come, or in one order. Otherwise as the cluster says.",
        )(command)
    help_text = f"A {operation} over a communicator, until the last rank's kernel has ended; bytes are those of a rank."
    return click.command(operation, help=help_text)(command)


COMMANDS = {
    "push": push,
    "injection": injection,
    **{operation: _collective(operation) for operation in operations.COLLECTIVES},
}
