# SPDX-License-Identifier: Apache-2.0
"""`thalweg rtl export`: exports a hub of a cluster as a folder of hardware."""

from __future__ import annotations

from pathlib import Path

import click

from thalweg.commands.exported import cluster_argument, folder_of, output_option
from thalweg.systems.peach2 import export
from thalweg.systems.peach2.cluster import Cluster


@click.command()
@cluster_argument
@output_option
def command(cluster_name: str, output: Path | None) -> None:
    """Export a hub of a cluster as a self-contained folder of hardware.

    It contains the hub's SystemVerilog, a top level with AXI4-Stream ports for packets and credits and a memory port, a
    FuseSoC core file, the window contents written by hosts, and a README with connections and registers.
    """
    cluster = Cluster.load(cluster_name)
    output = folder_of(cluster_name, output)
    export.export(cluster, output)
    click.echo(f"{output}: {export.TOP} of {cluster.name}; see README.md for its connections")
