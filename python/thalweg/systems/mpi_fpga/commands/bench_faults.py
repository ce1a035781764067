"""`thalweg bench faults`: what a link delivers under bit errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from thalweg.commands import completion
from thalweg.commands.output import json_option, print_line, print_table, progress_bar, write_json
from thalweg.errors import CheckFailed
from thalweg.systems.mpi_fpga import bench_faults
from thalweg.systems.mpi_fpga.cluster import Cluster

COLUMNS = ["bit errors", "p", "a", "goodput", "(1-p)/(1+pa)", "difference", "verified"]

WITHIN = 0.01
"""Goodput that is farther from the closed form is called wrong."""


class Rates(click.ParamType[list[float]]):
    """Bit error rates, separated by commas."""

    name = "rates"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[float]:
        if isinstance(value, list):
            return value
        try:
            rates = [float(word) for word in value.split(",")]
        except ValueError:
            rates = [-1.0]
        if not all(0 <= rate < 0.01 for rate in rates):
            self.fail(f"{value!r} is no list of bit error rates below 0.01, such as 1e-4,1e-6", param, ctx)
        return rates


@click.command("faults")
@click.option(
    "--cluster",
    "cluster_name",
    required=True,
    shell_complete=completion.clusters,
    metavar="C",
    help="Whose routers and links: a preset, a cluster file, or a shape in place such as torus:4x4.",
)
@click.option(
    "--rates", type=Rates(), default="1e-4,1e-5,1e-6,1e-7,1e-8", show_default=True, help="Share of bits that flip."
)
@click.option(
    "--cycles", type=click.IntRange(10_000), default=20_000_000, show_default=True, help="Cycles that are measured."
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of the faults.")
@json_option
def faults(cluster_name: str, rates: list[float], cycles: int, seed: int, json_file: Path | None) -> None:
    """Goodput of one link under bit errors: two routers that always have flits for each other, every flit checked.

    Beside it the closed form of go-back-N, p the share of frames that are damaged and a the frames of a round trip; 1 where
    the two differ by more than 1 %.
    """
    cluster = Cluster.load(cluster_name)
    with progress_bar("faults") as progress:
        rows = list(bench_faults.measure_faults(cluster, rates, cycles, seed, progress))
    print_line(
        f"a link of {cluster.link_latency} cycles as in {cluster.name}, frames of {rows[0]['frame_bits']} bits, {cycles} cycles"
    )
    print_table(
        COLUMNS,
        (
            [
                f"{row['bit_error_rate']:g}",
                f"{row['frame_error_rate']:.3g}",
                row["round_trip_frames"],
                f"{row['goodput']:.5f}",
                f"{row['expected']:.5f}",
                f"{100 * row['difference']:+.3f} %",
                "yes" if row["verified"] else "NO",
            ]
            for row in rows
        ),
        left=("verified",),
    )
    write_json(json_file, rows, cluster, seeds={"faults": seed})
    for row in rows:
        where = f"at a bit error rate of {row['bit_error_rate']:g}"
        if not row["verified"]:
            raise CheckFailed(f"a flit was lost or altered {where}")
        if abs(row["difference"]) > WITHIN:
            raise CheckFailed(f"the goodput {where} is {100 * row['difference']:+.2f} % from its closed form")
