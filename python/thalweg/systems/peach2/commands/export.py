# SPDX-License-Identifier: Apache-2.0
"""`thalweg rtl export`: a hub of a cluster as a folder of hardware."""

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
    """Write a hub of a cluster as a folder of hardware that stands by itself.

    In it are the SystemVerilog of the hub, a top level with AXI4-Stream ports for packets and credits and a port for the memory, a
    FuseSoC core file, what hosts write into the windows, and a README that says what attaches where, and what the registers are.
    """
    cluster = Cluster.load(cluster_name)
    output = folder_of(cluster_name, output)
    export.export(cluster, output)
    click.echo(f"{output}: {export.TOP} of {cluster.name}; README.md says what attaches where")
