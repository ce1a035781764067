# SPDX-License-Identifier: Apache-2.0
"""Common options of commands that serve ACCL's driver, and the output of their reports."""

from __future__ import annotations

import math
from typing import IO, Any

import click

from thalweg.commands.named_files import OutputFile
from thalweg.commands.output import print_line, print_table
from thalweg.systems.accl.report import Report
from thalweg.systems.accl.server import Settings


class _Seconds(click.FloatRange):
    """A finite number of seconds."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{number} is not a finite number of seconds", param, ctx)
        return number


ranks = click.option("-n", "ranks", type=click.IntRange(1), required=True, help="Number of ranks.")
loopback = click.option(
    "-b", "--loopback", is_flag=True, help="Return the output of each rank's kernel streams to its engine."
)
grace = click.option(
    "--grace",
    type=_Seconds(0),
    default=Settings.grace,
    show_default=True,
    metavar="S",
    help="Seconds of silence after which virtual time does not wait for a client.",
)
patience = click.option(
    "--patience",
    type=_Seconds(0),
    default=Settings.patience,
    show_default=True,
    metavar="S",
    help="Minimum seconds of silence before a call may time out.",
)
pcap = click.option(
    "--pcap",
    type=OutputFile(),
    metavar="FILE",
    help="Write all frames, with virtual times, to this file for Wireshark.",
)


def show(report: Report, file: IO[str] | None = None) -> None:
    """Prints a report: a table of ranks if there were clients, and errors."""
    if any(rank.clients for rank in report.ranks):
        print_table(*report.table(), left=["which"], file=file)
    for line in report.lines():
        print_line(line, file)
