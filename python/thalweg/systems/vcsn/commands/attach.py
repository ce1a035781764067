# SPDX-License-Identifier: Apache-2.0
"""`thalweg attach` of virtual circuits."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from thalweg.commands.attached import counts_of, pcap_option, print_interfaces, ratio_option
from thalweg.commands.measured import cluster_option
from thalweg.commands.named_files import InputFile, OutputFile
from thalweg.commands.output import json_option, print_line, write_json
from thalweg.errors import InputError
from thalweg.launch import ending
from thalweg.systems.vcsn._sim import Place
from thalweg.systems.vcsn.attach import DELIVERIES, MOST_NUMBER, Exchange, dropped, interfaces_of, place_of
from thalweg.systems.vcsn.cluster import Cluster
from thalweg.systems.vcsn.network import Network


class VirtualPort(click.ParamType[list[int]]):
    """Numbers with points between them."""

    def __init__(self, name: str) -> None:
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        if isinstance(value, list):
            return value
        try:
            return place_of(value, self.name.count(".") + 1)
        except ValueError:
            self.fail(f"{value!r} is no virtual port; it is written {self.name.upper()}", param, ctx)


@click.command(context_settings={"max_content_width": 120})
@cluster_option("vcsn-attached")
@click.option("--node", type=click.IntRange(0, MOST_NUMBER), required=True, help="The FPGA that is simulated here.")
@click.option(
    "--tap",
    "taps",
    multiple=True,
    required=True,
    metavar="NAME",
    help="A TAP device, veth or other network interface for external port 0; again for ports 1, 2, ...",
)
@click.option(
    "--at", type=VirtualPort("port.virtual"), default="0.0", show_default=True, help="Virtual port of the node."
)
@click.option(
    "--to", type=VirtualPort("node.port.virtual"), required=True, help="The virtual port at the circuit's other end."
)
@click.option(
    "--send",
    type=InputFile(exists=True),
    metavar="FILE",
    help="Send a file's bytes as one packet.",
)
@click.option("--receive", type=OutputFile(), metavar="FILE", help="Write the packet that comes to a file.")
@click.option(
    "--bytes",
    "size",
    type=click.IntRange(1),
    help="Bytes to receive [default: to the packet's end, in whole words of 64]",
)
@click.option(
    "--delivery",
    type=click.Choice(DELIVERIES),
    default="session",
    show_default=True,
    help="As the other end has it. session: all arrives once and in order, or both ends know; credits: no end sends more than the other has "
    "room for; plain: what finds no room is lost, too.",
)
@ratio_option
@click.option(
    "--limit",
    type=click.FloatRange(0),
    default=0,
    help="Give up after so many seconds of the wall clock [default: never]",
)
@click.option(
    "--engine",
    type=click.Choice(("sim", "rtl")),
    default="sim",
    show_default=True,
    help="rtl: the node's Verilated hardware is in step with the simulator's, and every word is compared.",
)
@pcap_option
@json_option
def command(
    cluster: str,
    node: int,
    taps: Sequence[str],
    at: list[int],
    to: list[int],
    send: Path | None,
    receive: Path | None,
    size: int | None,
    delivery: str,
    ratio: float,
    limit: float,
    engine: str,
    pcap: Path | None,
    json_file: Path | None,
) -> None:
    """Put a simulated FPGA on a real Ethernet: its external ports end at network interfaces of this computer.

    It opens a circuit with a virtual port elsewhere, such as one of another such command, sets its crossbar, and sends or receives by DMA. Without
    sessions, start the receiver first.

    Virtual time follows the wall clock at --ratio and is never ahead of it; a frame arrives at the virtual time at which it is read. No two runs are
    the same. Ctrl-C ends it with its counts.
    """
    of = Cluster.load(cluster)
    if size and not receive:
        raise InputError("--bytes is of what is received; give --receive FILE, too")
    interfaces = interfaces_of(of, node, taps)
    exchange = Exchange(of, Place(node, *at), Place(*to), send, receive, size or 0, delivery)
    exchange.check()
    network = of.attached(node, interfaces, ratio=ratio, limit_s=limit, pcap=str(pcap or ""), engine=engine)
    rows: list[dict[str, Any]] = []
    try:
        with ending.noticed() as signalled:

            def watch() -> None:
                if signalled.number:
                    raise click.exceptions.Exit(128 + signalled.number)

            rows = exchange.run(network, ratio, lambda: _say_ready(network, of, node, ratio), watch)
        cycles = network.finish()
    finally:
        _print(network, rows)
    if engine == "rtl":
        print_line(f"the hardware was the simulator's in {cycles} cycles")
    result = {
        "deterministic": False,
        "engine": engine,
        "hardware_cycles": cycles,
        "ratio": ratio,
        "transfers": rows,
        **counts_of(network),
    }
    write_json(json_file, result, of)


def _say_ready(network: Network, cluster: Cluster, node: int, ratio: float) -> None:
    ends = ", ".join(f"{one['interface']} ({one['type']})" for one in network.interfaces)
    print_line(
        f"node {node} of {cluster.name} on {ends}: {ratio:g} s of virtual time a second at most, not deterministic"
    )
    sys.stdout.flush()


def _print(network: Network, rows: Sequence[dict[str, Any]]) -> None:
    for row in rows:
        line = f"{row['direction']} {row['bytes']} bytes in {row['data_us'] / 1e3:.4g} ms of virtual time, {row['gb_per_s']:.4g} GB/s"
        if row["wall_mb_per_s"]:
            line += f", and {row['wall_s']:.4g} s of the wall clock, {row['wall_mb_per_s']:.4g} MB/s"
        print_line(line)
    print_interfaces(network)
    print_line(f"dropped here: {dropped(network) or 'nothing'}")
    print_line(f"virtual time did not keep up for {network.behind_s:.3f} s of {network.wall_s:.3f} s of the wall clock")
