"""`thalweg bench jobs`: collectives of several jobs on one fabric, each alone and all together."""

from __future__ import annotations

from pathlib import Path

import click

from thalweg.bench.plot import check_plot, plot
from thalweg.commands import completion
from thalweg.commands.output import OutputFile, json_option, print_line, print_table, progress_bar, write_json
from thalweg.errors import CheckFailed, InputError
from thalweg.systems.mpi_fpga import bench, bench_jobs, bounds
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.sharing import Share
from thalweg.systems.mpi_fpga.spec import Algorithm

COLUMNS = ["share", "job", "operation", "bytes", "part", "whole", "alone", "together", "rate", "of a link", "verified"]


class ShareType(click.ParamType[Share | None]):
    """How the jobs share the fabric."""

    name = "sub-channels:W:W|time-slots:W:W|none"

    def convert(self, value: str | Share, param: click.Parameter | None, ctx: click.Context | None) -> Share | None:
        if isinstance(value, Share):
            return value
        if value == bench_jobs.UNSHARED:
            return None
        try:
            return Share.parse(value)
        except InputError as error:
            self.fail(str(error), param, ctx)


@click.command("jobs")
@click.option(
    "--cluster",
    "cluster_name",
    required=True,
    shell_complete=completion.clusters,
    metavar="C",
    help="A preset, a cluster file, or a shape in place such as torus:4x4.",
)
@click.option(
    "--operations",
    default="allreduce,allreduce",
    show_default=True,
    metavar="A,B",
    help="The collective of each job, separated by commas.",
)
@click.option(
    "--share",
    "shares",
    type=ShareType(),
    multiple=True,
    default=("none", "sub-channels:2:2", "sub-channels:1:3", "time-slots:1:1", "time-slots:1:3"),
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
    type=click.Choice([algorithm.name.lower() for algorithm in Algorithm]),
    default="tree",
    show_default=True,
    help="Where an operation has it.",
)
@click.option(
    "--sizes", default="8,1M", show_default=True, metavar="S", help="Bytes: 8:1M, doubling, or a list such as 8,64,1K."
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of random data.")
@click.option("--plot", "picture", type=OutputFile(), metavar="FILE", help="Also draw it: .png, .svg or .pdf.")
@json_option
def jobs(
    cluster_name: str,
    operations: str,
    shares: tuple[Share | None, ...],
    placement: str,
    algorithm: str,
    sizes: str,
    seed: int,
    picture: Path | None,
    json_file: Path | None,
) -> None:
    """Jobs that share one fabric: what the others cost each, and its share of the rate.

    Each job runs a collective on its part of the hosts: with the fabric to itself (whole), with its share alone, and
    together with the others, which repeat theirs. Rate is whole / together.
    """
    if picture:
        check_plot(picture)
    cluster = Cluster.load(cluster_name)
    chosen = [name.strip() for name in operations.split(",")]
    for name in chosen:
        if name not in bounds.OPERATIONS:
            raise InputError(f"{name!r} is no collective; there are {', '.join(bounds.OPERATIONS)}")
    plans = [
        bench_jobs.JobsPlan(cluster, chosen, bench.parse_sizes(sizes), share, placement, algorithm, seed)
        for share in shares
    ]
    rows: list[bench.Row] = []
    with progress_bar("jobs") as progress:
        for index, plan in enumerate(plans):

            def advanced(done: float, before: int = index) -> None:
                progress((before + done) / len(plans))

            rows += bench_jobs.measure_jobs(plan, advanced)
    print_line(f"{len(chosen)} jobs on {cluster.name}, nodes {placement}, kernel to kernel; times in us")
    keys = [
        "share",
        "job",
        "operation",
        "bytes",
        "part",
        "time_whole_us",
        "time_alone_us",
        "time_together_us",
        "rate",
        "link",
    ]
    print_table(
        COLUMNS,
        ([*(row[key] for key in keys), "yes" if row["verified"] else "NO"] for row in rows),
        left=("share", "operation", "verified"),
    )
    write_json(json_file, rows, cluster, seeds={"data": seed})
    if picture:
        plot(rows, picture)
    wrong = [row for row in rows if not row["verified"]]
    if wrong:
        where = ", ".join(f"job {row['job']}, {row['bytes']} bytes, {row['share']}" for row in wrong)
        raise CheckFailed(f"not what it is alone: {where}")
