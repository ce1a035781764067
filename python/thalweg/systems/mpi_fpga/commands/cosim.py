# SPDX-License-Identifier: Apache-2.0
"""`thalweg rtl cosim`: compares whole clusters in the simulator and in RTL, under random programs."""

from __future__ import annotations

import secrets
from pathlib import Path

import click

from thalweg.commands.named_files import ClusterName
from thalweg.commands.output import json_option, print_table, write_json
from thalweg.commands.random_programs import seed_option
from thalweg.errors import CheckFailed
from thalweg.rtl.tools import BuildError
from thalweg.systems.mpi_fpga import cosim
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.faults import faults_option
from thalweg.systems.mpi_fpga.rtl_engine import in_rtl


@click.command()
@click.option(
    "--cluster",
    "cluster_name",
    required=True,
    metavar="C",
    type=ClusterName(),
    help="Preset, cluster file, or shape.",
)
@faults_option
@click.option("--runs", type=click.IntRange(1), default=20, show_default=True, help="Random programs.")
@click.option(
    "--cycles",
    type=click.IntRange(1, 10**9),
    default=10_000,
    show_default=True,
    help="Minimum length of a run in cycles.",
)
@seed_option
@click.option(
    "--waves",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    show_default=True,
    help="Folder for waves of a difference.",
)
@click.option("--units", is_flag=True, help="Also compare collective units; building them takes minutes.")
@json_option
def command(
    cluster_name: str,
    faults: str | None,
    runs: int,
    cycles: int,
    seed: int | None,
    waves: Path,
    units: bool,
    json_file: Path | None,
) -> None:
    """Compare the RTL routers of a whole cluster with the simulator, cycle by cycle.

    Programs are random collectives and messages. --units also compares collective units, with a smaller communicator
    table. Stops at the first difference and prints seed, cycle, node, port and both values; then repeats the program
    and writes the signals of the router or unit as FST.
    """
    cluster = Cluster.load(cluster_name, faults)
    if units:
        cluster = cosim.with_few_rows(cluster)
    seed = secrets.randbelow(2**31) if seed is None else seed
    click.echo(f"seed {seed}; {runs} random program{'s' * (runs > 1)} on {cluster.name}")
    try:
        hardware = in_rtl(cluster, compares=True, units=units)
    except BuildError as error:
        click.echo(error.text, err=True)
        raise
    done = []
    try:
        with click.progressbar(length=runs, label="comparing", show_pos=True) as bar:
            for outcome in cosim.compare(cluster, hardware, seed, runs, cycles):
                done.append(outcome)
                bar.update(1)
    except cosim.Difference as found:
        raise CheckFailed(f"{found}; waves: {cosim.record(cluster, found, cycles, waves)}") from None
    row = {
        "cluster": cluster.name,
        "seed": seed,
        "runs": runs,
        "shortest": min(outcome.cycles for outcome in done),
        "router-cycles": sum(outcome.cycles for outcome in done) * cluster.topology.nodes,
        "operations": sum(outcome.operations for outcome in done),
        "recoveries": sum(len(outcome.recoveries) for outcome in done),
    }
    print_table(tuple(row), [tuple(row.values())], left=("cluster",))
    write_json(json_file, row, cluster, seeds={"programs": seed})
