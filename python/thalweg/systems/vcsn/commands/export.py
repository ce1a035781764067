# SPDX-License-Identifier: Apache-2.0
"""`thalweg rtl export`: exports a node of a VCSN cluster as a folder of hardware."""

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
    """Export a node of a VCSN cluster as a self-contained folder of hardware.

    It contains the node's SystemVerilog, a top level with AXI4-Stream ports for MACs, user logic and commands and
    memory ports, a FuseSoC core file, constraints, and a README with its connections.
    """
    cluster = Cluster.load(cluster_name)
    output = folder_of(cluster_name, output)
    export.export(cluster, output)
    click.echo(f"{output}: {export.TOP} of {cluster.name}; see README.md for its connections")
