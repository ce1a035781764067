# SPDX-License-Identifier: Apache-2.0
"""`thalweg attach` of boards with ACCL's engine."""

from __future__ import annotations

import sys
from ipaddress import IPv4Address
from pathlib import Path

import click

from thalweg.commands.attached import counts_of, pcap_option, print_interfaces, ratio_option
from thalweg.commands.measured import cluster_option
from thalweg.commands.output import json_option, print_line, write_json
from thalweg.errors import InputError
from thalweg.launch import ending
from thalweg.lost import counted
from thalweg.systems.accl._sim import ethernet_address, ip_address
from thalweg.systems.accl.cluster import Cluster
from thalweg.systems.accl.launch import disconnect

_STEP_S = 0.1  #: wall-clock interval of checks for signals


@click.command(context_settings={"max_content_width": 120})
@cluster_option("accl-u280-udp")
@click.option("--node", type=click.IntRange(0), required=True, help="Simulated board.")
@click.option("--tap", required=True, metavar="NAME", help="TAP device, veth or other network interface.")
@ratio_option
@click.option(
    "--limit",
    type=click.FloatRange(0),
    default=0,
    help="End after this many wall-clock seconds [default: at a signal]",
)
@click.option(
    "--engine",
    type=click.Choice(("sim", "rtl")),
    default="sim",
    show_default=True,
    help="rtl: Verilated RTL replaces the C++ model behind the MAC.",
)
@pcap_option
@json_option
def command(
    cluster: str,
    node: int,
    tap: str,
    ratio: float,
    limit: float,
    engine: str,
    pcap: Path | None,
    json_file: Path | None,
) -> None:
    """Attach a simulated board to a real Ethernet: its link ends at a network interface of this computer.

    It answers ARP and ICMP echo requests (`ping`), and receives packets of other boards' engines. Virtual time follows
    the wall clock at --ratio and is never ahead of it, so runs are not deterministic. Ctrl-C ends it and prints its
    counts.
    """
    of = Cluster.load(cluster)
    network = of.attached(node, tap, ratio=ratio, pcap=str(pcap or ""), hardware=engine == "rtl")
    step = max(1, round(_STEP_S * ratio * network.ticks_per_second))
    with ending.noticed() as signalled:
        print_line(
            f"node {node} of {of.name} on {tap}: {IPv4Address(ip_address(node))} at {_address(node)}, "
            f"at most {ratio:g} s of virtual time per second, not deterministic"
        )
        sys.stdout.flush()
        while not signalled.number and (not limit or network.wall_s < limit) and not network.failure:
            network.advance(network.now + step)
        disconnect(network, step)
    network.close()
    lost = network.lost
    print_interfaces(network)
    print_line("dropped here: " + (", ".join(f"{counted(count, what)}" for _, what, count in lost) or "nothing"))
    result = {"deterministic": False, "ratio": ratio, **counts_of(network)}
    write_json(json_file, result, of)
    if network.failure:
        raise InputError(network.failure)
    if signalled.number:
        raise click.exceptions.Exit(128 + signalled.number)


def _address(node: int) -> str:
    return ":".join(f"{byte:02x}" for byte in ethernet_address(node).to_bytes(6, "big"))
