# SPDX-License-Identifier: Apache-2.0
"""`thalweg bench flows`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from thalweg.commands.measured import Columns, Outputs, cluster_option, measure, outputs, seed_option
from thalweg.commands.named_files import OutputFile
from thalweg.systems.ethernet import operations
from thalweg.systems.ethernet._sim import LEAST_PAYLOAD, MOST_PAYLOAD
from thalweg.systems.ethernet.cluster import Cluster

_COLUMNS: Columns = (
    ("offered", "offered_gbit_s"),
    ("goodput", "goodput_gbit_s"),
    ("lost", "share_lost"),
    ("delay", "delay_us"),
)


@click.command()
@cluster_option("ethernet-16")
@click.option("--senders", type=click.IntRange(1), default=4, show_default=True, help="Computers that send to one.")
@click.option(
    "--loads",
    default="0.1,0.2,0.25,0.3,0.5,1",
    show_default=True,
    metavar="L",
    help="Of each sender's line, a list.",
)
@click.option(
    "--payload",
    type=click.IntRange(LEAST_PAYLOAD, MOST_PAYLOAD),
    default=1486,
    show_default=True,
    help="Bytes of a frame behind its header.",
)
@click.option("--frames", type=click.IntRange(1), default=10_000, show_default=True, help="Of each sender.")
@click.option(
    "--gaps",
    type=click.Choice(operations.GAPS),
    default="exponential",
    show_default=True,
    help="Between the times at which a sender's frames are due.",
)
@seed_option("gaps and data")
@click.option(
    "--pcap", type=OutputFile(), metavar="FILE", help="Also write all frames of a single load, for Wireshark."
)
@outputs
def flows(cluster: str, pcap: Path | None, outputs: Outputs, **options: Any) -> None:
    """Frames of several computers to one, with data that are checked.

    Where more is offered than a line carries, the switch's buffer fills and loses frames. Rates are in Gb/s of payload, delays in us from when a
    frame was due to its end at the receiver.
    """
    plan = operations.flows(Cluster.load(cluster), pcap=str(pcap or ""), **options)
    measure(plan, outputs, _COLUMNS, before=[("load", "load")])
