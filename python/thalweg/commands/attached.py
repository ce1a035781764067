# SPDX-License-Identifier: Apache-2.0
"""What commands of `thalweg attach` have in common: their options, and what they report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import click

from thalweg.commands.named_files import OutputFile
from thalweg.commands.output import print_line

ratio_option = click.option(
    "--ratio",
    type=float,
    default=0.01,
    show_default=True,
    help="Seconds of virtual time in a second of the wall clock, at most.",
)
pcap_option = click.option(
    "--pcap", type=OutputFile(), metavar="FILE", help="Also write all frames, with virtual times, for Wireshark."
)


class Attached(Protocol):
    """A network whose lines end at network interfaces."""

    @property
    def interfaces(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def lost(self) -> Sequence[tuple[int, str, int]]: ...
    @property
    def wall_s(self) -> float: ...
    @property
    def behind_s(self) -> float: ...


def print_interfaces(network: Attached) -> None:
    """Frames and bytes of each interface, a line each."""
    for one in network.interfaces:
        print_line(
            f"{one['interface']}: sent {one['sent']} frames with {one['sent_bytes']} bytes, received {one['received']} with {one['received_bytes']}"
        )


def counts_of(network: Attached) -> dict[str, Any]:
    """For `--json`: frames of the interfaces, what was dropped, seconds of the wall clock, and those by which virtual time is behind."""
    return {
        "interfaces": network.interfaces,
        "dropped": [{"node": where, "what": what, "count": count} for where, what, count in network.lost],
        "wall_s": network.wall_s,
        "behind_s": network.behind_s,
    }
