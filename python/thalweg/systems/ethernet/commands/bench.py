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
@click.option("--senders", type=click.IntRange(1), default=4, show_default=True, help="Number of sending computers.")
@click.option(
    "--loads",
    default="0.1,0.2,0.25,0.3,0.5,1",
    show_default=True,
    metavar="L",
    help="Offered loads relative to each sender's line, 0 to 1, as a list.",
)
@click.option(
    "--payload",
    type=click.IntRange(LEAST_PAYLOAD, MOST_PAYLOAD),
    default=1486,
    show_default=True,
    help="Payload of a frame in bytes.",
)
@click.option("--frames", type=click.IntRange(1), default=10_000, show_default=True, help="Frames per sender.")
@click.option(
    "--gaps",
    type=click.Choice(operations.GAPS),
    default="exponential",
    show_default=True,
    help="Distribution of the times between a sender's frames.",
)
@seed_option("gaps and data")
@click.option("--pcap", type=OutputFile(), metavar="FILE", help="Also write all frames as pcap; needs a single load.")
@outputs
def flows(cluster: str, pcap: Path | None, outputs: Outputs, **options: Any) -> None:
    """Frames from several computers to one, with verified data.

    If the offered load exceeds the line rate, the switch's buffer overflows and frames are lost. Rates are in Gb/s of
    payload; delays in us from when a frame is due to its arrival.
    """
    plan = operations.flows(Cluster.load(cluster), pcap=str(pcap or ""), **options)
    measure(plan, outputs, _COLUMNS, before=[("load", "load")])
