# SPDX-License-Identifier: Apache-2.0
"""Shared by all `thalweg attach` commands: options, and the report of interfaces."""

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
    help="Maximum ratio of virtual time to wall-clock time.",
)
pcap_option = click.option(
    "--pcap", type=OutputFile(), metavar="FILE", help="Also write all frames as pcap, with virtual timestamps."
)


class Attached(Protocol):
    """A simulated network whose Ethernet lines are connected to network interfaces."""

    @property
    def interfaces(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def lost(self) -> Sequence[tuple[int, str, int]]: ...
    @property
    def wall_s(self) -> float: ...
    @property
    def behind_s(self) -> float: ...


def print_interfaces(network: Attached) -> None:
    """Prints frames and bytes of each interface, one per line."""
    for one in network.interfaces:
        print_line(
            f"{one['interface']}: sent {one['sent']} frames with {one['sent_bytes']} bytes, received {one['received']} with {one['received_bytes']}"
        )


def counts_of(network: Attached) -> dict[str, Any]:
    """Returns the report for `--json`: frames per interface, drops, wall-clock seconds, and by how many seconds virtual
    time is late."""
    return {
        "interfaces": network.interfaces,
        "dropped": [{"node": where, "what": what, "count": count} for where, what, count in network.lost],
        "wall_s": network.wall_s,
        "behind_s": network.behind_s,
    }
