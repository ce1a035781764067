# SPDX-License-Identifier: Apache-2.0
"""`thalweg rtl export`: exports a rank of a cluster as a folder of hardware."""

from __future__ import annotations

from pathlib import Path

import click

from thalweg.commands.exported import cluster_argument, folder_of, output_option
from thalweg.commands.named_files import InputFile
from thalweg.systems.smi import export, metadata
from thalweg.systems.smi.cluster import Cluster
from thalweg.systems.smi.commands.extract import define_option, include_option
from thalweg.systems.smi.extract import extract


@click.command()
@cluster_argument
@click.argument("program", nargs=-1, required=True, type=InputFile())
@output_option
@include_option
@define_option
def command(
    cluster_name: str,
    program: tuple[Path, ...],
    output: Path | None,
    includes: tuple[Path, ...],
    defines: tuple[str, ...],
) -> None:
    """Export a rank, with the endpoints of PROGRAM, as a self-contained folder of hardware.

    PROGRAM is metadata (a file of `thalweg smi extract`), or sources from which operations are extracted. The folder
    contains the rank's SystemVerilog, a top level with AXI4-Stream ports for elements, opens and links and AXI4-Lite
    for the tables, a FuseSoC core file, routes of the cluster, a C header that loads them, and a README with
    connections and the opening of channels.
    """
    cluster = Cluster.load(cluster_name)
    if len(program) == 1 and program[0].suffix == ".json":
        made = metadata.read(program[0])
    else:
        found = extract(list(program), includes, defines, cluster.node.reads, cluster.topology.nodes)
        made = metadata.of_values(found, program[0].stem)
    output = folder_of(cluster_name, output)
    export.export(cluster, made, output)
    click.echo(f"{output}: {export.TOP} of {cluster.name} for {made.name}; see README.md for its connections")
