# SPDX-License-Identifier: Apache-2.0
"""`thalweg bench jobs`: collectives of several jobs on one fabric, each alone and all together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from thalweg.bench.operation import Plan, Row
from thalweg.bench.plot import check_plot
from thalweg.commands.measured import plot_option
from thalweg.commands.output import json_option, print_line, print_table
from thalweg.errors import InputError
from thalweg.systems.mpi_fpga import bench_jobs, operations
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.commands.bench import cluster_option, measured, seed_option, yes

COLUMNS = ["share", "job", "operation", "bytes", "part", "whole", "alone", "together", "rate", "of a link", "verified"]
_KEYS = [
    *("share", "job", "operation", "bytes", "part"),
    *("time_whole_us", "time_alone_us", "time_together_us", "rate", "link"),
]


class ShareType(click.ParamType[str]):
    """How the jobs share the fabric."""

    name = "sub-channels:W:W|time-slots:W:W|none"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            bench_jobs.share_of(value)
        except InputError as error:
            self.fail(error.what, param, ctx)
        return value


@click.command("jobs")
@cluster_option
@click.option(
    "--operations",
    "names",
    default="allreduce,allreduce",
    show_default=True,
    metavar="A,B",
    help="The collective of each job, separated by commas.",
)
@click.option(
    "--share",
    type=ShareType(),
    multiple=True,
    default=operations.SHARES,
    show_default=True,
    help="Weights of the jobs in a mode; may be given again.",
)
@click.option(
    "--placement",
    type=click.Choice(bench_jobs.PLACEMENTS),
    default="interleaved",
    show_default=True,
    help="Nodes dealt out in turn, so that the jobs' ways cross, or in blocks.",
)
@click.option(
    "--algorithm",
    type=click.Choice(operations.ALGORITHMS[1:]),
    default="tree",
    show_default=True,
    help="Where an operation has it.",
)
@click.option(
    "--sizes", default="8,1M", show_default=True, metavar="S", help="Bytes: 8:1M, doubling, or a list such as 8,64,1K."
)
@seed_option("random data")
@plot_option
@json_option
def jobs(cluster_name: str, names: str, picture: Path | None, json_file: Path | None, **options: Any) -> None:
    """Jobs that share one fabric: what the others cost each, and its share of the rate.

    Each job runs a collective on its part of the hosts: with the fabric to itself (whole), with its share alone, and
    together with the others, which repeat theirs. Rate is whole / together.
    """
    if picture:
        check_plot(picture)
    chosen = [name.strip() for name in names.split(",")]
    plan = operations.jobs(Cluster.load(cluster_name), operations=chosen, **options)
    measured(plan, _print_jobs, json_file, picture)


def _print_jobs(plan: Plan, rows: Sequence[Row]) -> None:
    print_line(plan.title)
    print_table(
        COLUMNS,
        ([*(row[key] for key in _KEYS), yes(row["verified"])] for row in rows),
        left=("share", "operation", "verified"),
    )
