# SPDX-License-Identifier: Apache-2.0
"""`thalweg route` of PEACH2: routes defined by address windows, and their proof."""

from __future__ import annotations

from pathlib import Path

import click

from thalweg.commands.named_files import ClusterName
from thalweg.commands.output import json_option
from thalweg.commands.routes import check_option, into, of_ports, show
from thalweg.systems.peach2 import proved
from thalweg.systems.peach2.cluster import Cluster


@click.command()
@click.argument("cluster", metavar="CLUSTER", type=ClusterName())
@check_option
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Write routes.csv, links.csv and proof.json into DIR."
)
@json_option
def command(cluster: str, check: bool, out: Path | None, json_file: Path | None) -> None:
    """Prove that the address windows of CLUSTER deliver all packets without deadlock.

    Ports are 0 east, 1 west and 2 south. `thalweg rtl export` writes the windows themselves.
    """
    into(out)
    found = proved.prove(Cluster.load(cluster))
    show(found, of_ports(found.proof, check), out, json_file)
