# SPDX-License-Identifier: Apache-2.0
"""`thalweg rtl export`: the engine of an ACCL board as a folder of RTL."""

from __future__ import annotations

from pathlib import Path

import click

from thalweg.commands.exported import cluster_argument, folder_of, output_option
from thalweg.systems.accl import export
from thalweg.systems.accl.cluster import Cluster


@click.command()
@cluster_argument
@output_option
@click.option("--data-path", is_flag=True, help="Export only the data path, which executes moves instead of calls.")
def command(cluster_name: str, output: Path | None, *, data_path: bool) -> None:
    """Export the engine of an ACCL board as a self-contained folder of RTL.

    It contains the SystemVerilog of the engine, a top level with AXI4-Stream ports for calls, AXI DataMovers, kernels
    and the MAC, and an AXI4-Lite port of the exchange memory, a FuseSoC core file, constraints, and a README that
    describes the ports.
    """
    cluster = Cluster.load(cluster_name)
    output = folder_of(cluster_name, output)
    export.export(cluster, output, data_path=data_path)
    click.echo(f"{output}: {export.TOP} of {cluster.name}; README.md describes its ports")
