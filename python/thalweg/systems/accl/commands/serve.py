# SPDX-License-Identifier: Apache-2.0
"""`thalweg accl serve`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click

from thalweg.commands.in_switch import in_switch_option
from thalweg.commands.measured import cluster_option
from thalweg.commands.output import json_option, print_line, write_json
from thalweg.launch import ending
from thalweg.systems.accl.commands import options
from thalweg.systems.accl.drivers import load_zmq
from thalweg.systems.accl.engine import Engine, make_engine
from thalweg.systems.accl.report import Report
from thalweg.systems.accl.run import MAX_PORT, check_ports
from thalweg.systems.accl.server import Server, Settings


@click.command(context_settings={"max_content_width": 120})
@options.ranks
@cluster_option("accl-u280-udp")
@click.option(
    "--port",
    type=click.IntRange(1, MAX_PORT),
    default=Settings.port,
    show_default=True,
    help="First of 4 ports per rank.",
)
@options.loopback
@options.grace
@options.patience
@options.pcap
@in_switch_option
@json_option
def command(
    ranks: int,
    cluster: str,
    port: int,
    loopback: bool,
    grace: float,
    patience: float,
    pcap: Path | None,
    in_switch: str | None,
    json_file: Path | None,
) -> None:
    """Serve programs that use ACCL's driver, unchanged: the simulated engines replace ACCL's emulator.

    Start the programs with the same --port. Ctrl-C or SIGTERM ends the server, which then prints a report: its
    calls, calls without an end, and return codes other than 0, which ACCL's driver ignores in simulations. The exit
    code is 1 after such a return code or a refused request, else 0.
    """
    load_zmq()
    check_ports(ranks, port)
    settings = Settings(port, loopback, grace, patience=patience)
    engine = make_engine(cluster, ranks, str(pcap or ""), in_switch)
    with ending.noticed() as signalled:
        try:
            report = run(engine, settings, cluster, lambda: bool(signalled.number))
        finally:
            engine.close()
        options.show(report)
        write_json(json_file, report.as_json())
    if not report.right:
        raise click.exceptions.Exit(1)


def run(engine: Engine, settings: Settings, name: str, stopped: Callable[[], bool]) -> Report:
    """Serves until `stopped`, and prints when it is ready."""
    server = Server(engine, settings)
    try:
        last = settings.port + engine.ranks - 1
        print_line(f"serving {engine.ranks} ranks of {name} at 127.0.0.1:{settings.port} to {last}")
        sys.stdout.flush()
        return server.serve(stopped)
    finally:
        server.close()
