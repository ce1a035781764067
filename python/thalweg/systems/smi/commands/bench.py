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
    help="Element type.",
)


_hops = click.option(
    "--hops", type=click.IntRange(1), default=1, show_default=True, help="Number of links between the two ranks."
)
_switching = click.option(
    "--switching",
    type=click.Choice(operations.SWITCHINGS),
    help="packet: all packets have headers; circuit: one header, then elements only [default: the cluster's].",
)
_circuit_packets = click.option(
    "--circuit-packets",
    type=click.IntRange(0),
    help="Maximum number of packets per circuit; 0 means a whole message [default: the cluster's].",
)


@click.command()
@_cluster
@_engine
@_element
@click.option(
    "--senders",
    type=click.IntRange(1, operations.MAX_SENDERS),
    default=1,
    show_default=True,
    help="Number of concurrently pushing kernels of rank 0, each at its own port.",
)
@_hops
@_switching
@_circuit_packets
@sizes_option("8:1M")
@outputs
def push(cluster: str, outputs: Outputs, **options: Any) -> None:
    """Message from kernels of rank 0 to those of another rank, until the last element is popped.

    The bound is the links' latency plus the elements over the slower of link and kernels, which push one per cycle. The
    last share is relative to the payload rate of full packets on a link.
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
    """Latency of a message of one element, from push to pop, while another kernel's message to the same rank is in flight.

    Sizes are those of the other message, half of which has been pushed. The bound is the links' latency.
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
    help="Consecutive reads of one input before the next is polled, a list.",
)
@click.option("--messages", type=click.IntRange(1), default=2000, show_default=True, help="Number of messages.")
@outputs
def injection(cluster: str, outputs: Outputs, **options: Any) -> None:
    """Cycles between messages of one element, with a channel at each link.

    With polling, R packets leave in R + (number of links) cycles; a link carries packets at its rate.
    """
    columns: Columns = [("cycles", "cycles"), ("by polling", "polling_cycles"), ("by link", "link_cycles")]
    measure(operations.inject(Cluster.load(cluster), **options), outputs, columns, before=[("R", "reads")])


def _collective(operation: str) -> click.Command:
    @_cluster
    @_engine
    @_element
    @click.option("--ranks", type=click.IntRange(0), default=0, help="Number of ranks, the first ones [default: all].")
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
            help="Children per rank in the tree; 0: all are the root's, as in the paper [default: the cluster's].",
        )(command)
    if operation == "reduce":
        command = click.option(
            "--any-order/--one-order",
            default=None,
            help="Combine contributions in order of arrival, or in fixed order [default: the cluster's].",
        )(command)
    help_text = f"{operation.capitalize()} over a communicator, until the last rank's kernel has ended; sizes are bytes per rank."
    return click.command(operation, help=help_text)(command)


@click.command()
@_cluster
@_element
@click.option("--ranks", type=click.IntRange(0), default=0, help="Number of ranks, the first ones [default: all].")
@click.option("--arity", type=click.IntRange(1), default=2, show_default=True, help="Children per rank in the tree.")
@sizes_option("64:64K")
@outputs
def trees(cluster: str, outputs: Outputs, **options: Any) -> None:
    """Broadcast and reduction over a tree, compared with the paper's linear scheme, in which all are the root's children.

    The last column is the cost of a fixed order of reduction: its linear time over that in order of arrival.
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
            f"{collective}: the tree is slower at all of these sizes"
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
