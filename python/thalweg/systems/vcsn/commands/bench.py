# SPDX-License-Identifier: Apache-2.0
"""Commands of `thalweg bench` on virtual circuits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from thalweg.commands.measured import (
    Columns,
    Option,
    Outputs,
    cluster_option,
    measure,
    outputs,
    seed_option,
    sizes_option,
)
from thalweg.commands.named_files import InputFile, OutputFile
from thalweg.systems.vcsn import operations, rewiring, schedules
from thalweg.systems.vcsn import overload as overloading
from thalweg.systems.vcsn.cluster import Cluster
from thalweg.systems.vcsn.network import WAYS

_cluster = cluster_option("vcsn-d5005")
_seed = seed_option("the data")
_circuits = click.option(
    "--circuits",
    type=InputFile(),
    metavar="FILE",
    help="Open the partitions and circuits of this circuit file.",
)


def _pcap(of: str) -> Option:
    return click.option("--pcap", type=OutputFile(), metavar="FILE", help=f"Also write all frames of {of} as pcap.")


_RATE: Columns = (("GB/s", "gb_per_s"),)


@click.command()
@_cluster
@click.option("--source", type=click.IntRange(0), default=0, show_default=True, help="Sending FPGA.")
@click.option("--destination", type=click.IntRange(0), default=1, show_default=True, help="The FPGA that receives.")
@click.option("--port", type=click.IntRange(0), default=0, show_default=True, help="External port of both FPGAs.")
@click.option(
    "--by",
    type=click.Choice(["servers"]),
    default=None,
    help="servers: via the servers' network, as a model [default: a circuit or serial links].",
)
@_circuits
@sizes_option("64:64M")
@_seed
@_pcap("a single size")
@outputs
def transfer(
    cluster: str, circuits: Path | None, by: str | None, pcap: Path | None, outputs: Outputs, **options: Any
) -> None:
    """Transfer between the memories of two FPGAs: servers open a circuit, set crossbars, start DMA engines, and wait for
    the interrupt.

    `data` is the time in which words move at crossbars. The bound is the time of the frames on the line.
    """
    plan = operations.transfer(
        Cluster.load(cluster), circuits=str(circuits or ""), by=by or "", pcap=str(pcap or ""), **options
    )
    measure(plan, outputs, [("data", "data_us"), *_RATE])


def _by(*more: str, about: str = "") -> Option:
    return click.option(
        "--by",
        type=click.Choice([*sorted(schedules.GATHERS), *more]),
        default=None,
        help=f"Algorithm [default: tree, or ring with serial links]; relink: each stage opens new circuits{about}.",
    )


_nodes = click.option("--nodes", type=click.IntRange(0), default=0, show_default=True, help="FPGAs; 0: all.")
_root = click.option("--root", type=click.IntRange(0), default=0, show_default=True, help="FPGA.")
_late = click.option("--late", is_flag=True, help="Include the average delay of barriers after work.")


@click.command()
@_cluster
@_by(
    "fabric",
    "servers",
    about="; fabric: by sequencers in the FPGAs, without servers between transfers; servers: MPI_Gather of the servers, without FPGAs, as a model",
)
@_nodes
@_root
@_late
@sizes_option("64K:4M")
@_seed
@_pcap("a single size")
@outputs
def gather(cluster: str, by: str | None, pcap: Path | None, outputs: Outputs, **options: Any) -> None:
    """Gather blocks of all FPGAs in the memory of one, in stages started by servers and ended by barriers.

    The bound is the time of the frames on the root's lines. The last share is relative to the payload rate of the
    root's ports.
    """
    measure(operations.gather(Cluster.load(cluster), by=by or "", pcap=str(pcap or ""), **options), outputs, _COLUMNS)


@click.command()
@_cluster
@_by()
@_nodes
@_root
@_late
@sizes_option("64K:4M")
@_seed
@_pcap("a single size")
@outputs
def scatter(cluster: str, by: str | None, pcap: Path | None, outputs: Outputs, **options: Any) -> None:
    """Scatter blocks from one FPGA to all others."""
    measure(operations.scatter(Cluster.load(cluster), by=by or "", pcap=str(pcap or ""), **options), outputs, _COLUMNS)


@click.command()
@_cluster
@click.option("--senders", type=click.IntRange(1), default=4, show_default=True, help="Number of sending FPGAs.")
@click.option("--destination", type=click.IntRange(0), default=0, show_default=True, help="The FPGA that receives.")
@click.option(
    "--by",
    type=click.Choice(overloading.WAYS),
    default=None,
    help="Protection against loss [default: each in turn].",
)
@sizes_option("4M")
@_seed
@_pcap("one way and size")
@outputs
def overload(cluster: str, by: str | None, pcap: Path | None, outputs: Outputs, **options: Any) -> None:
    """Send from several FPGAs to one at the same time, more than its lines carry.

    Streams use its external ports in turn. If it has fewer write engines than streams, an engine writes one stream
    after another. `ended` counts completed transfers, `lost` dropped frames. GB/s and the share of the ports refer to
    completed transfers; the bound is the time of their frames on the lines.
    """
    columns: Columns = (
        *_RATE,
        ("of ports", "share_of_ports"),
        ("ended", "ended"),
        ("lost", "lost"),
        ("of frames", "share_lost"),
    )
    plan = overloading.overload(Cluster.load(cluster), by=by or "", pcap=str(pcap or ""), **options)
    measure(plan, outputs, columns, before=(("by", "by"),))


@click.command()
@_cluster
@click.option(
    "--to",
    default="",
    show_default=rewiring.USUAL,
    metavar="T",
    help="Topologies in sequence: line, ring, star, tree, mesh:4x4, torus:4x4; tree:3 has three branches per node.",
)
@_circuits
@click.option("--by", type=click.Choice(WAYS), default=None, help="Who writes the tables [default: each in turn].")
@_nodes
@_seed
@_pcap("one way")
@outputs
def rewire(
    cluster: str, circuits: Path | None, by: str | None, pcap: Path | None, outputs: Outputs, **options: Any
) -> None:
    """Reconfigure circuit tables: from no circuits to a topology, and on to others; only changed rows are written.

    registers: servers store all rows without pause, until the last one is in its table. servers: programs write row by
    row, and meet at a barrier. The bound is the time of the slot, or of the software, at the FPGA or server with the
    most rows.
    """
    columns: Columns = (("by", "by"), ("from", "from"), ("to", "to"), ("rows", "rows"))
    measure(
        rewiring.rewire(
            Cluster.load(cluster), circuits=str(circuits or ""), by=by or "", pcap=str(pcap or ""), **options
        ),
        outputs,
        before=columns,
    )


@click.command()
@_cluster
@click.option(
    "--by",
    type=click.Choice(["broadcast", "ring"]),
    default="ring",
    show_default=True,
    help="Algorithm; broadcast: a gather, then multicast frames.",
)
@_nodes
@_late
@sizes_option("64K:1M")
@_seed
@_pcap("a single size")
@outputs
def allgather(cluster: str, by: str, pcap: Path | None, outputs: Outputs, **options: Any) -> None:
    """Gather blocks of all FPGAs in all, by a bidirectional ring, or by gather and multicast.

    The bound is the time of the frames on each FPGA's lines. The last share is relative to the payload rate of its
    ports.
    """
    measure(operations.allgather(Cluster.load(cluster), by=by, pcap=str(pcap or ""), **options), outputs, _COLUMNS)


_COLUMNS: Columns = (("stages", "stages"), *_RATE, ("of ports", "share_of_ports"))
