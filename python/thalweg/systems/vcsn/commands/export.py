# SPDX-License-Identifier: Apache-2.0
"""`thalweg rtl export`: a node of a VCSN cluster as a folder of hardware."""

from __future__ import annotations

from pathlib import Path

import click

from thalweg.commands.exported import cluster_argument, folder_of, output_option
from thalweg.systems.vcsn import export
from thalweg.systems.vcsn.cluster import Cluster


@click.command()
@cluster_argument
@output_option
def command(cluster_name: str, output: Path | None) -> None:
    """Write a node of a VCSN cluster as a folder of hardware that stands by itself.

    In it are the SystemVerilog of the node, a top level with AXI4-Stream ports for MACs, user logic and commands and ports for the
    memory, a FuseSoC core file, constraints, and a README that says what attaches where.
    """
    cluster = Cluster.load(cluster_name)
    output = folder_of(cluster_name, output)
    export.export(cluster, output)
    click.echo(f"{output}: {export.TOP} of {cluster.name}; README.md says what attaches where")
