# SPDX-License-Identifier: Apache-2.0
"""`thalweg bench` push, injection, broadcast, reduce, scatter and gather on clusters of SMI."""

from __future__ import annotations

from typing import Any

import click

from thalweg.commands.in_switch import in_switch_option
from thalweg.commands.measured import Columns, Outputs, cluster_option, engine_option, measure, outputs, sizes_option
from thalweg.commands.output import print_line
from thalweg.systems.smi import operations
from thalweg.systems.smi.cluster import Cluster

_cluster = cluster_option("smi-noctua")
_engine = engine_option("ranks")
_element = click.option(
    "--element",
    type=click.Choice(list(operations.BYTES)),
    default="float",
    show_default=True,
    help="Type of the elements.",
)


_hops = click.option(
    "--hops", type=click.IntRange(1), default=1, show_default=True, help="Links between the two ranks."
)
_switching = click.option(
    "--switching",
    type=click.Choice(operations.SWITCHINGS),
    help="Packets with headers, or circuits of elements alone. Otherwise the cluster's.",
)
_circuit_packets = click.option(
    "--circuit-packets",
    type=click.IntRange(0),
    help="That follow in a circuit at most; 0: it is a whole message. Otherwise the cluster's.",
)


@click.command()
@_cluster
@_engine
@_element
@click.option(
    "--senders",
    type=click.IntRange(1, operations.MOST_SENDERS),
    default=1,
    show_default=True,
    help="Kernels of rank 0 that push side by side, each at a port of its own.",
)
@_hops
@_switching
@_circuit_packets
@sizes_option("8:1M")
@outputs
def push(cluster: str, outputs: Outputs, **options: Any) -> None:
    """A message from kernels of rank 0 to those of another rank, until the last element is popped.

    The bound has the links' latency and the elements over the slower of link and kernels, which push one a cycle; the last share is
    that of the elements that a link can carry, in full packets.
    """
    columns = [("Gb/s", "gbit_per_s"), ("of payload", "share_of_payload")]
    measure(operations.push(Cluster.load(cluster), **options), outputs, columns)


@click.command()
@_cluster
@_element
@_hops
@_switching
@_circuit_packets
@sizes_option("1K:1M")
@outputs
def latency(cluster: str, outputs: Outputs, **options: Any) -> None:
    """A message of one element to a rank to which another kernel's message is under way, from its push to its pop.

    The sizes are the other one's, of which half have been pushed. The bound has the links' latency.
    """
    measure(operations.latency(Cluster.load(cluster), **options), outputs)


@click.command()
@_cluster
@_engine
@click.option(
    "--reads",
    default="1,4,8,16",
    show_default=True,
    metavar="R",
    help="Of a send kernel from an input on end: a list.",
)
@click.option("--messages", type=click.IntRange(1), default=2000, show_default=True, help="To be measured over.")
@outputs
def injection(cluster: str, outputs: Outputs, **options: Any) -> None:
    """Cycles from a message of one element to the next one, with a channel at each link.

    Polling lets R packets leave in R + the number of links cycles; a link takes no more packets than its rate allows.
    """
    columns: Columns = [("cycles", "cycles"), ("by polling", "polling_cycles"), ("by link", "link_cycles")]
    measure(operations.inject(Cluster.load(cluster), **options), outputs, columns, before=[("R", "reads")])


def _collective(operation: str) -> click.Command:
    @_cluster
    @_engine
    @_element
    @click.option("--ranks", type=click.IntRange(0), default=0, help="The first ones; all where nothing is said.")
    @click.option("--root", type=click.IntRange(0), default=0, show_default=True)
    @in_switch_option
    @sizes_option("4:64K")
    @outputs
    def command(cluster: str, outputs: Outputs, **options: Any) -> None:
        measure(operations.OPERATIONS[operation].plan(Cluster.load(cluster), **options), outputs)

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


@click.command()
@_cluster
@_element
@click.option("--ranks", type=click.IntRange(0), default=0, help="The first ones; all where nothing is said.")
@click.option("--arity", type=click.IntRange(1), default=2, show_default=True, help="Children of a place in the tree.")
@sizes_option("64:64K")
@outputs
def trees(cluster: str, outputs: Outputs, **options: Any) -> None:
    """Broadcast and reduction over a tree, beside the paper's linear scheme, in which all are the root's children.

    The last column is what a reduction's one order costs: its linear time over that in any order.
    """
    columns = [
        ("linear", "time_linear_us"),
        ("speed-up", "times_as_fast"),
        ("one order", "order_costs"),
    ]
    plan = operations.trees(Cluster.load(cluster), **options)
    rows = measure(plan, outputs, columns, before=[("collective", "collective")])
    for collective in ("broadcast", "reduce"):
        size = operations.faster_from(rows, collective)
        last = [row for row in rows if row["collective"] == collective][-1]
        print_line(
            f"{collective}: the tree is faster at none of these sizes"
            if size is None
            else f"{collective}: the tree is faster from {size} bytes on, {last['times_as_fast']:.2f} times as fast at {last['bytes']}"
        )


COMMANDS = {
    "push": push,
    "latency": latency,
    "injection": injection,
    "trees": trees,
    **{operation: _collective(operation) for operation in operations.COLLECTIVES},
}
