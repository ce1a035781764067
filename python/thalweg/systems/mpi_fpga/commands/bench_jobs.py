# SPDX-License-Identifier: Apache-2.0
"""`thalweg bench jobs`: collectives of several jobs on one fabric, each alone and all together."""

from __future__ import annotations

from typing import Any

import click

from thalweg.commands.measured import Columns, Outputs, measure, outputs, seed_option, sizes_option
from thalweg.errors import InputError
from thalweg.systems.mpi_fpga import bench_jobs, operations
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.commands.bench import cluster_option

BEFORE: Columns = (("sharing", "sharing"), ("job", "job"), ("collective", "collective"))
COLUMNS: Columns = (
    ("part", "part"),
    ("whole", "time_whole_us"),
    ("alone", "time_alone_us"),
    ("rate", "rate"),
    ("of a link", "link"),
)


class ShareType(click.ParamType[str]):
    """Sharing mode and weights of the jobs."""

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
    help="Collective of each job, separated by commas.",
)
@click.option(
    "--share",
    type=ShareType(),
    multiple=True,
    default=operations.SHARES,
    show_default=True,
    help="Sharing mode with a weight per job; may be repeated.",
)
@click.option(
    "--placement",
    type=click.Choice(bench_jobs.PLACEMENTS),
    default="interleaved",
    show_default=True,
    help="Nodes of jobs: interleaved, so that their paths cross, or in blocks.",
)
@click.option(
    "--algorithm",
    type=click.Choice(operations.ALGORITHMS[1:]),
    default="tree",
    show_default=True,
    help="Algorithm, for operations that support it.",
)
@sizes_option("8,1M")
@seed_option("random data")
@outputs
def jobs(cluster_name: str, names: str, outputs: Outputs, **options: Any) -> None:
    """Interference of jobs that share one fabric, and each job's share of the rate.

    Each job runs a collective on its part of the hosts: on an unshared fabric (whole), with its share alone, and
    together with the others, which repeat theirs (time). Rate is whole / time.
    """
    chosen = [name.strip() for name in names.split(",")]
    plan = operations.jobs(Cluster.load(cluster_name), operations=chosen, **options)
    measure(plan, outputs, COLUMNS, BEFORE)
