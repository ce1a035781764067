# SPDX-License-Identifier: Apache-2.0
"""`thalweg run`: an unmodified MPI program on a simulated cluster."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from thalweg.commands import completion
from thalweg.commands.named_files import ClusterName, read_programs
from thalweg.commands.output import json_option, write_json
from thalweg.commands.pictures import Pictures, picture_options
from thalweg.launch import placement as placements
from thalweg.systems.mpi_fpga import runs
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.commands.run_settings import print_run, run_settings
from thalweg.systems.mpi_fpga.commands.threads import threads_option
from thalweg.systems.mpi_fpga.faults import faults_option
from thalweg.systems.mpi_fpga.rtl_engine import ENGINES
from thalweg.systems.mpi_fpga.runs import RunSettings


@click.command(context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.option("-n", "--ranks", type=click.IntRange(1), help="Number of ranks. [default: the capacity of the cluster]")
@click.option(
    "--ranks-per-node",
    "--ppn",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="R",
    help="Number of consecutive ranks per node.",
)
@click.option(
    "--cluster",
    metavar="CLUSTER",
    type=ClusterName(),
    help="Preset, cluster file, or shape. [default: the smallest preset torus that is large enough]",
)
@faults_option
@threads_option
@placements.option
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default="sim",
    show_default=True,
    help="sim: simulator; rtl: with Verilated routers and collective units; rtl-routers: with Verilated routers only.",
)
@run_settings
@click.option(
    "--instances",
    is_flag=True,
    help="Report each call site of a collective: time in software, time in the network, and skew of the ranks.",
)
@picture_options
@json_option
@click.argument(
    "program",
    nargs=-1,
    type=click.UNPROCESSED,
    required=True,
    callback=read_programs,
    shell_complete=completion.files,
)
def command(
    ranks: int | None,
    ranks_per_node: int,
    cluster: str | None,
    faults: str | None,
    threads: int | None,
    placement: str,
    engine: str,
    settings: RunSettings,
    instances: bool,
    trace_file: Path | None,
    page_file: Path | None,
    json_file: Path | None,
    program: tuple[str, ...],
) -> None:
    """Run an unmodified MPI PROGRAM on a simulated cluster: `thalweg run -n 8 -- ./program arguments`.

    The program's output is followed by a report on stderr. Exit code: the program's own; 124 if the simulation stopped
    (a rank died, a deadlock, inconsistent ranks), 125 for bad input.
    """
    if cluster is not None:
        loaded = Cluster.load(cluster, faults)
    else:
        loaded = runs.smallest(-(-(ranks or 1) // ranks_per_node), faults)
    pictures = Pictures(trace_file, page_file)
    how = (settings, ranks, ranks_per_node, placement, engine, instances)
    report = runs.run_program(program, loaded.with_threads(threads), *how, record=bool(pictures))
    print_run(report, pictures)
    seeds = {**placements.seeds(placement), **settings.seeds}
    write_json(json_file, report.as_json(), report.cluster, seeds=seeds)
    sys.exit(report.exit_code)
