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
from thalweg.systems.vcsn._sim import VirtualPort
from thalweg.systems.vcsn.attach import DELIVERIES, MAX_NUMBER, Exchange, dropped, interfaces_of, place_of
from thalweg.systems.vcsn.cluster import Cluster
from thalweg.systems.vcsn.network import Network


class VirtualPortNumbers(click.ParamType[list[int]]):
    """Numbers separated by dots."""

    def __init__(self, name: str) -> None:
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        if isinstance(value, list):
            return value
        try:
            return place_of(value, self.name.count(".") + 1)
        except ValueError:
            self.fail(f"{value!r} is not a virtual port; write {self.name.upper()}", param, ctx)


@click.command(context_settings={"max_content_width": 120})
@cluster_option("vcsn-attached")
@click.option("--node", type=click.IntRange(0, MAX_NUMBER), required=True, help="Simulated FPGA.")
@click.option(
    "--tap",
    "taps",
    multiple=True,
    required=True,
    metavar="NAME",
    help="Network interface (TAP, veth, ...) for external port 0; repeat for ports 1, 2, ...",
)
@click.option(
    "--at", type=VirtualPortNumbers("port.virtual"), default="0.0", show_default=True, help="Virtual port of the node."
)
@click.option(
    "--to",
    type=VirtualPortNumbers("node.port.virtual"),
    required=True,
    help="Virtual port at the other end of the circuit.",
)
@click.option(
    "--send",
    type=InputFile(exists=True),
    metavar="FILE",
    help="File to send as one packet.",
)
@click.option("--receive", type=OutputFile(), metavar="FILE", help="File for the received packet.")
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
    help="Must be equal at both ends. session: reliable, in order, failures are reported; credits: no end sends more than the other can  "
    "buffer; plain: no flow control, overflow is lost.",
)
@ratio_option
@click.option(
    "--limit",
    type=click.FloatRange(0),
    default=0,
    help="Time limit in wall-clock seconds [default: none]",
)
@click.option(
    "--engine",
    type=click.Choice(("sim", "rtl")),
    default="sim",
    show_default=True,
    help="rtl: also run the Verilated node in lockstep and compare every word.",
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
    """Connect a simulated FPGA to a real Ethernet, through network interfaces of this computer.

    It opens a circuit to a virtual port elsewhere, such as one of another such command, sets its crossbar, and sends or
    receives by DMA. Without sessions, start the receiver first.

    Virtual time follows the wall clock at --ratio and is never ahead of it; frames arrive at the virtual time at which
    they are read. Runs are not deterministic. Ctrl-C ends the command and prints its counters.
    """
    of = Cluster.load(cluster)
    if size and not receive:
        raise InputError("--bytes applies to received data; give --receive FILE, too")
    interfaces = interfaces_of(of, node, taps)
    exchange = Exchange(of, VirtualPort(node, *at), VirtualPort(*to), send, receive, size or 0, delivery)
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
        print_line(f"hardware and simulator were equal in {cycles} cycles")
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
        f"node {node} of {cluster.name} on {ends}: {ratio:g} s of virtual time per second at most, not deterministic"
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
