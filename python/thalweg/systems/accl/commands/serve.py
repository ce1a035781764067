# SPDX-License-Identifier: Apache-2.0
"""`thalweg accl serve`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click

from thalweg.commands.measured import cluster_option
from thalweg.commands.output import json_option, print_line, print_table, write_json
from thalweg.errors import InputError
from thalweg.launch import ending
from thalweg.systems.accl.engine import Engine, make_engine
from thalweg.systems.accl.report import Report
from thalweg.systems.accl.server import Server, Settings, load_zmq

_MOST_PORT = 65535


@click.command(context_settings={"max_content_width": 120})
@click.option("-n", "ranks", type=click.IntRange(1), required=True, help="Number of ranks.")
@cluster_option("accl")
@click.option(
    "--port",
    type=click.IntRange(1, _MOST_PORT),
    default=Settings.port,
    show_default=True,
    help="Port of rank 0; the server uses 4 times as many as there are ranks.",
)
@click.option("--loopback", is_flag=True, help="Return the output of each rank's kernel streams to its engine.")
@click.option(
    "--grace",
    type=click.FloatRange(0),
    default=Settings.grace,
    show_default=True,
    metavar="S",
    help="Seconds without a message after which virtual time does not wait for a client.",
)
@click.option(
    "--patience",
    type=click.FloatRange(0),
    default=Settings.patience,
    show_default=True,
    metavar="S",
    help="Minimum of seconds without a message before a call may time out.",
)
@json_option
def command(
    ranks: int, cluster: str, port: int, loopback: bool, grace: float, patience: float, json_file: Path | None
) -> None:
    """Serve programs that use ACCL's driver, unchanged: the simulated engines answer in place of ACCL's emulator.

    Start the programs with this --port, and end the server with Ctrl-C or SIGTERM. It then prints what was called, return codes other than 0, which
    ACCL's driver does not pass on in simulations, and which calls never ended. Its exit code is 0, or 1 if there was such a return code, or if a
    request was refused.
    """
    load_zmq()
    if port + 4 * ranks - 1 > _MOST_PORT:
        raise InputError(f"{ranks} ranks need {4 * ranks} ports from {port} on; the last port is {_MOST_PORT}")
    settings = Settings(port, loopback, grace, patience=patience)
    with ending.noticed() as signalled:
        report = run(make_engine(cluster, ranks), settings, cluster, lambda: bool(signalled.number))
        show(report)
        write_json(json_file, report.as_json())
    if not report.right:
        raise click.exceptions.Exit(1)


def run(engine: Engine, settings: Settings, name: str, stopped: Callable[[], bool]) -> Report:
    """Serves until `stopped`; says when it is ready."""
    server = Server(engine, settings)
    try:
        last = settings.port + engine.ranks - 1
        print_line(f"serving {engine.ranks} ranks of {name} at 127.0.0.1:{settings.port} to {last}")
        sys.stdout.flush()
        return server.serve(stopped)
    finally:
        server.close()


def show(report: Report) -> None:
    """Prints a report: a table of ranks if there were clients, and what went wrong."""
    if any(rank.clients for rank in report.ranks):
        print_table(*report.table(), left=["which"])
    for line in report.lines():
        print_line(line)
