# SPDX-License-Identifier: Apache-2.0
"""`thalweg accl emulator`."""

from __future__ import annotations

import click

from thalweg.commands.named_files import ClusterName
from thalweg.errors import InputError
from thalweg.launch import ending
from thalweg.systems.accl import emulator
from thalweg.systems.accl.commands import options
from thalweg.systems.accl.drivers import load_zmq
from thalweg.systems.accl.engine import make_engine
from thalweg.systems.accl.run import MAX_PORT, check_ports
from thalweg.systems.accl.server import Settings

_CLUSTERS = {"udp": "accl-u280-udp", "tcp": "accl-u280-tcp", "cyt_rdma": "accl-u280-rdma"}


@click.command(context_settings={"max_content_width": 120})
@click.option(
    "-s", "--worldsize", "ranks", type=click.IntRange(1), default=1, show_default=True, help="Number of ranks."
)
@click.option(
    "-r", "--localrank", "rank", type=click.IntRange(0), default=0, show_default=True, help="Rank of this instance."
)
@click.option(
    "-p", "--port", type=click.IntRange(1, MAX_PORT), default=Settings.port, show_default=True, help="Port of rank 0."
)
@click.option(
    "-c",
    "--comms",
    default="tcp",
    show_default=True,
    metavar="TRANSPORT",
    help="udp, tcp or cyt_rdma.",
)
@options.loopback
@click.option("-l", "--loglevel", type=int, default=3, help="Ignored.")
@click.option(
    "--cluster",
    type=ClusterName(),
    envvar="THALWEG_ACCL_CLUSTER",
    show_envvar=True,
    metavar="C",
    help="A preset or a cluster file. [default: accl-u280-udp, accl-u280-tcp or accl-u280-rdma]",
)
def command(ranks: int, rank: int, port: int, comms: str, loopback: bool, loglevel: int, cluster: str | None) -> None:
    """Replace ACCL's emulator, with its options, in programs that start it themselves: set ACCL_EMULATOR_PATH to the path
    of `thalweg-accl-emulator`.

    The instance of rank 0 serves all ranks until it receives a signal and the other instances have ended. It then
    prints its report.
    """
    load_zmq()
    if comms not in _CLUSTERS:
        raise InputError(f"--comms {comms} is not supported; must be {', '.join(_CLUSTERS)}")
    if rank >= ranks:
        raise InputError(f"--localrank {rank}: must be below the number of ranks, {ranks}")
    check_ports(ranks, port)
    with ending.noticed() as notice:
        ended = emulator.asked_to_end(lambda: bool(notice.number))
        if rank:
            emulator.wait(rank, ranks, port, ended)
            return
        report = emulator.serve(make_engine(cluster or _CLUSTERS[comms], ranks), Settings(port, loopback), ended)
        options.show(report)
    if not report.right:
        raise click.exceptions.Exit(1)
