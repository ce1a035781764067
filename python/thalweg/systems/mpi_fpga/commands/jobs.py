# SPDX-License-Identifier: Apache-2.0
"""`thalweg jobs`: several unmodified MPI programs concurrently on one simulated cluster, each with its share of the
fabric."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from thalweg.commands import completion
from thalweg.commands.named_files import ClusterName, read_programs
from thalweg.commands.output import json_option, print_table, write_json
from thalweg.commands.pictures import Pictures, picture_options
from thalweg.errors import InputError
from thalweg.systems.mpi_fpga import bench_jobs
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.commands.bench_jobs import ShareType
from thalweg.systems.mpi_fpga.commands.run_settings import print_run, run_settings
from thalweg.systems.mpi_fpga.runs import RunSettings


def _programs(words: Sequence[str]) -> list[list[str]]:
    """Returns the command lines, separated by `:`. Raises InputError if one is empty."""
    commands: list[list[str]] = [[]]
    for word in words:
        if word == ":":
            commands.append([])
        else:
            commands[-1].append(word)
    if not all(commands):
        raise InputError("a program is missing next to a colon; write ./one arguments : ./other arguments")
    return commands


@click.command(context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.option(
    "--cluster",
    "cluster_name",
    required=True,
    metavar="C",
    type=ClusterName(),
    help="Preset, cluster file, or shape, e.g. torus:4x4.",
)
@click.option("-n", "--ranks", type=click.IntRange(1), help="Ranks per program. [default: an equal part of the hosts]")
@click.option("--share", type=ShareType(), required=True, help="Share of the fabric of each program.")
@click.option(
    "--placement",
    type=click.Choice(bench_jobs.PLACEMENTS),
    default="interleaved",
    show_default=True,
    help="Hosts of programs: interleaved, so that their paths cross, or in blocks.",
)
@click.option(
    "--only", type=click.IntRange(0), metavar="JOB", help="Run only this job, with its share and on its hosts."
)
@run_settings
@picture_options
@json_option
@click.argument(
    "words",
    nargs=-1,
    type=click.UNPROCESSED,
    required=True,
    metavar="PROGRAM [ARGS] : PROGRAM [ARGS]",
    callback=read_programs,
    shell_complete=completion.files,
)
def command(
    cluster_name: str,
    ranks: int | None,
    share: str,
    placement: str,
    only: int | None,
    settings: RunSettings,
    trace_file: Path | None,
    page_file: Path | None,
    json_file: Path | None,
    words: tuple[str, ...],
) -> None:
    """Run MPI programs concurrently on one cluster, each on its own hosts and with its own MPI_COMM_WORLD: `thalweg jobs
    --cluster torus:4x4 --share sub-channels:1:3 -- ./one arguments : ./other arguments`.

    Each line of output starts with its job's number. Error messages number ranks through all programs. Exit code: that
    of the first program that failed; 124 if the simulation stopped, 125 for bad input.
    """
    from thalweg.systems.mpi_fpga.mpi.launch import Program

    commands = _programs(words)
    cluster = Cluster.load(cluster_name)
    shared = bench_jobs.share_of(share)
    if shared and len(shared.weights) != len(commands):
        raise InputError(f"{share} has {len(shared.weights)} weights, but there are {len(commands)} programs")
    if only is not None and only >= len(commands):
        raise InputError(f"there is no job {only}: the programs are jobs 0 to {len(commands) - 1}")
    hosts = cluster.topology.hosts
    each = ranks or hosts // len(commands)
    if not 1 <= each * len(commands) <= hosts:
        raise InputError(
            f"{len(commands)} programs of {max(each, 1)} ranks do not fit on the {hosts} hosts of {cluster.name}"
        )
    nodes = [part[:each] for part in bench_jobs.place(hosts, len(commands), placement)]
    pictures = Pictures(trace_file, page_file)
    jobs = [only] if only is not None else list(range(len(commands)))
    try:
        report = settings.run(
            cluster,
            [Program(commands[job], nodes[job], f"{job}: ") for job in jobs],
            shared.on(cluster, nodes) if shared else None,
            record=bool(pictures),
        )
    except ValueError as error:
        raise InputError(f"{cluster.name}, {share}: {error}") from None
    print_run(report, pictures)
    ends = iter(report.ends_us)
    rows: list[dict[str, Any]] = [
        {
            "job": job,
            "program": commands[job],
            "nodes": nodes[job],
            "part": shared.weights[job] / shared.parts if shared else None,
            "virtual_time_us": max(next(ends) for _ in nodes[job]),
        }
        for job in jobs
    ]
    print(file=sys.stderr)
    print_table(
        ["job", "program", "ranks", "part", "virtual time us"],
        ([row["job"], row["program"][0], each, row["part"], row["virtual_time_us"]] for row in rows),
        left=["program"],
        file=sys.stderr,
    )
    data = {**report.as_json(), "share": share, "jobs": rows}
    write_json(json_file, data, report.cluster, seeds=settings.seeds)
    sys.exit(report.exit_code)
