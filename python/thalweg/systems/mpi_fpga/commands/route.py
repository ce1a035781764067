# SPDX-License-Identifier: Apache-2.0
"""`thalweg route` of MPI-FPGA: routing tables, and the proof of delivery and absence of deadlock."""

from __future__ import annotations

from pathlib import Path

import click

from thalweg.cluster import load
from thalweg.commands.named_files import ClusterName, InputFile
from thalweg.commands.output import json_option
from thalweg.commands.routes import check_option, into, of_ports, show
from thalweg.route import proved
from thalweg.route.routing import ALGORITHMS
from thalweg.systems.mpi_fpga.slots import Proof


@click.command()
@click.argument("cluster", metavar="CLUSTER", type=ClusterName())
@check_option
@click.option("--routing", type=click.Choice(list(ALGORITHMS)), help="Routing algorithm [default: the cluster's].")
@click.option("--table", type=InputFile(), metavar="FILE", help="Prove the table in FILE instead.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Write routes.csv, links.csv and proof.json into DIR."
)
@json_option
def command(
    cluster: str, check: bool, routing: str | None, table: Path | None, out: Path | None, json_file: Path | None
) -> None:
    """Compute the routes of CLUSTER, and prove delivery and absence of deadlock.

    If a table fails, prints the wait-for cycle or the unreachable pair; the exit code is 1.
    """
    into(out)
    found = proved.prove(load(cluster), routing, table)
    figures = [*of_ports(found.proof, check)]
    if check:
        assert isinstance(found.proof, Proof)
        waits = (
            f"{found.proof.slots} of tree and exchange edges, {found.proof.slot_dependencies} dependencies, 0 cycles"
        )
        figures.append(("slots", waits))
    show(found, figures, out, json_file)
