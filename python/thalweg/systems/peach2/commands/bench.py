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
    "--source", type=click.Choice(operations.SOURCES), default="cpu", show_default=True, help="Memory at both ends."
)
@click.option(
    "--by",
    type=click.Choice(operations.PUTS),
    default="dma",
    show_default=True,
    help="dma: the hub's DMA controller; store: the processor's stores; copies: GPU to CPU to CPU to GPU.",
)
@click.option(
    "--descriptors",
    type=click.Choice(("ram", "host")),
    default="ram",
    show_default=True,
    help="Location of DMA descriptors: the hub's working RAM, or the host's memory.",
)
@click.option("--hops", type=click.IntRange(1), default=1, show_default=True, help="Cables between the two nodes.")
@sizes_option("8:16M")
@_seed
@outputs
def put(cluster: str, outputs: Outputs, **options: Any) -> None:
    """Copy from node 0's memory to another node's, whose processor waits for it.

    The bound is the bytes over the slowest part plus all latencies except the hubs' pipelines. The last share is
    relative to the payload rate of the ring's links with packets of 256 bytes.
    """
    columns = [("GB/s", "gb_per_s"), ("of payload", "share_of_payload"), ("limited by", "bottleneck")]
    measure(operations.put(Cluster.load(cluster), **options), outputs, columns)


@click.command()
@_cluster
@_engine
@click.option(
    "--by",
    type=click.Choice(operations.REDUCERS),
    default="hub",
    show_default=True,
    help="hub: without host; host: the host polls for the hub's result and copies it; cpu: the processor reduces.",
)
@click.option(
    "--nodes", type=click.IntRange(1), default=1, show_default=True, help="Number of nodes that reduce together."
)
@sizes_option("1K:16M")
@_seed
@outputs
def reduce(cluster: str, outputs: Outputs, **options: Any) -> None:
    """Field-wise sum of records (eight numbers) in the memories of two GPUs, until every processor has the result.

    The bound is the bytes over the slower of the hub's bus and GPU reads, plus all latencies except the hubs'
    pipelines.
    """
    columns = [("GB/s", "gb_per_s")]
    measure(operations.reduce(Cluster.load(cluster), **options), outputs, columns)


COMMANDS = {"put": put, "reduce": reduce}
