# SPDX-License-Identifier: Apache-2.0
"""`thalweg bench put` and `thalweg bench reduce`."""

from __future__ import annotations

from typing import Any

import click

from thalweg.commands.measured import (
    Outputs,
    cluster_option,
    engine_option,
    measure,
    outputs,
    seed_option,
    sizes_option,
)
from thalweg.systems.peach2 import operations
from thalweg.systems.peach2.cluster import Cluster

_cluster = cluster_option("peach2")
_seed = seed_option("the data")
_engine = engine_option("hubs")


@click.command()
@_cluster
@_engine
@click.option(
    "--source", type=click.Choice(operations.SOURCES), default="cpu", show_default=True, help="Memory of both ends."
)
@click.option(
    "--by",
    type=click.Choice(operations.PUTS),
    default="dma",
    show_default=True,
    help="dma: the hub reads and writes; store: the processor writes; copies: GPU to CPU to CPU to GPU.",
)
@click.option(
    "--descriptors",
    type=click.Choice(("ram", "host")),
    default="ram",
    show_default=True,
    help="Of the DMA controller: in the hub's working RAM, or in the host's memory.",
)
@click.option("--hops", type=click.IntRange(1), default=1, show_default=True, help="Cables between the two nodes.")
@sizes_option("8:16M")
@_seed
@outputs
def put(cluster: str, outputs: Outputs, **options: Any) -> None:
    """Bytes from node 0's memory to another node's, whose processor waits for them.

    The bound has the bytes over the slowest part and all latencies but those of the hubs' pipelines; the last share is that of the
    data that a link of eight lanes can carry, in packets of 256 bytes.
    """
    columns = [("GB/s", "gb_per_s"), ("of payload", "share_of_payload")]
    measure(operations.put(Cluster.load(cluster), **options), outputs, columns)


@click.command()
@_cluster
@_engine
@click.option(
    "--by",
    type=click.Choice(operations.REDUCERS),
    default="hub",
    show_default=True,
    help="hub: no host takes part; host: it looks for the hub's result and starts its copy; cpu: the processor sums.",
)
@click.option("--nodes", type=click.IntRange(1), default=1, show_default=True, help="That reduce together.")
@sizes_option("1K:16M")
@_seed
@outputs
def reduce(cluster: str, outputs: Outputs, **options: Any) -> None:
    """Records of eight numbers in two GPUs' memories, summed field by field, until the result is in every processor's memory.

    The bound has the bytes over the hub's bus or out of the GPUs, the slower of the two, and all latencies but those of the hubs'
    pipelines.
    """
    columns = [("GB/s", "gb_per_s")]
    measure(operations.reduce(Cluster.load(cluster), **options), outputs, columns)


COMMANDS = {"put": put, "reduce": reduce}
