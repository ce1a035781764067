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
    return click.option(
        "--pcap", type=OutputFile(), metavar="FILE", help=f"Also write all frames of {of}, for Wireshark."
    )


_RATE: Columns = (("GB/s", "gb_per_s"),)


@click.command()
@_cluster
@click.option("--source", type=click.IntRange(0), default=0, show_default=True, help="The FPGA that sends.")
@click.option("--destination", type=click.IntRange(0), default=1, show_default=True, help="The FPGA that receives.")
@click.option("--port", type=click.IntRange(0), default=0, show_default=True, help="External port of both.")
@click.option("--by", type=click.Choice(["servers"]), default=None, help="By way of the servers' network, as a model.")
@_circuits
@sizes_option("64:64M")
@_seed
@_pcap("a single size")
@outputs
def transfer(
    cluster: str, circuits: Path | None, by: str | None, pcap: Path | None, outputs: Outputs, **options: Any
) -> None:
    """From one FPGA's memory to another's over a circuit: the servers open it, set crossbars, start DMA engines, and wait for the interrupt.

    `data` is the time in which words move at crossbars. The bound has the frames on the line.
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
        help=f"By default tree, and ring over serial links; relink: each stage opens circuits of its own{about}.",
    )


_nodes = click.option("--nodes", type=click.IntRange(0), default=0, show_default=True, help="FPGAs; 0: all.")
_root = click.option("--root", type=click.IntRange(0), default=0, show_default=True, help="FPGA.")
_late = click.option("--late", is_flag=True, help="Barriers take what they take on average after work.")


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
    """Blocks of all FPGAs to one, from memory to memory, in stages that servers start and barriers end.

    The bound has the frames on the root's lines; the last share is that of the data that the root's ports can carry.
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
    """Blocks from one FPGA to all others: gather the other way round."""
    measure(operations.scatter(Cluster.load(cluster), by=by or "", pcap=str(pcap or ""), **options), outputs, _COLUMNS)


@click.command()
@_cluster
@click.option("--senders", type=click.IntRange(1), default=4, show_default=True, help="FPGAs that send.")
@click.option("--destination", type=click.IntRange(0), default=0, show_default=True, help="The FPGA that receives.")
@click.option(
    "--by",
    type=click.Choice(overloading.WAYS),
    default=None,
    help="What keeps frames from being lost. By default all, one after the other.",
)
@sizes_option("4M")
@_seed
@_pcap("one way and size")
@outputs
def overload(cluster: str, by: str | None, pcap: Path | None, outputs: Outputs, **options: Any) -> None:
    """Several FPGAs send to one at the same time, more than its lines carry.

    Streams come over its external ports in turn. Where it has fewer write engines than streams come, an engine writes one stream after another.
    `ended` are transfers that have ended, and `lost` are the frames that were dropped on their way. GB/s and the share of the ports are of the bytes of
    ended transfers; the bound has their frames on the lines.
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
    help="Topologies, one after another: line, ring, star, tree, mesh:4x4, torus:4x4; tree:3 has three branches of each node.",
)
@_circuits
@click.option("--by", type=click.Choice(WAYS), default=None, help="By default both, one after the other.")
@_nodes
@_seed
@_pcap("one way")
@outputs
def rewire(
    cluster: str, circuits: Path | None, by: str | None, pcap: Path | None, outputs: Outputs, **options: Any
) -> None:
    """From no circuits to a topology, and on to others: the rows of the circuit tables that change.

    By registers, servers store all rows without a pause, and the time ends when the last one is in its table. By servers, their programs write one
    row after another, and meet at a barrier. The bound is the slot's, or the software's, of the FPGA or server with the most rows.
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
    help="broadcast: by gather, and frames to all.",
)
@_nodes
@_late
@sizes_option("64K:1M")
@_seed
@_pcap("a single size")
@outputs
def allgather(cluster: str, by: str, pcap: Path | None, outputs: Outputs, **options: Any) -> None:
    """Blocks of all FPGAs to all others, by a ring both ways, where each passes on what has come, or by way of one.

    The bound has the frames on the lines of each FPGA; the last share is that of the data that its ports can carry.
    """
    measure(operations.allgather(Cluster.load(cluster), by=by, pcap=str(pcap or ""), **options), outputs, _COLUMNS)


_COLUMNS: Columns = (("stages", "stages"), *_RATE, ("of ports", "share_of_ports"))
