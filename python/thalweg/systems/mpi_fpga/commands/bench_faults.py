# SPDX-License-Identifier: Apache-2.0
"""`thalweg bench faults`: what a link delivers under bit errors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from thalweg.bench.operation import Plan, Row
from thalweg.commands.output import json_option, print_line, print_table
from thalweg.errors import InputError
from thalweg.systems.mpi_fpga import operations
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.commands.bench import cluster_option, measured, seed_option, yes

COLUMNS = ["bit errors", "p", "a", "goodput", "(1-p)/(1+pa)", "difference", "verified"]


class Rates(click.ParamType[list[float]]):
    """Bit error rates, separated by commas."""

    name = "rates"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[float]:
        if isinstance(value, list):
            return value
        try:
            rates = [float(word) for word in value.split(",")]
            operations.check_rates(rates)
        except (ValueError, InputError):
            self.fail(f"{value!r} is no list of bit error rates below 0.01, such as 1e-4,1e-6", param, ctx)
        return rates


@click.command("faults")
@cluster_option
@click.option(
    "--rates", type=Rates(), default="1e-4,1e-5,1e-6,1e-7,1e-8", show_default=True, help="Share of bits that flip."
)
@click.option(
    "--cycles", type=click.IntRange(10_000), default=20_000_000, show_default=True, help="Cycles that are measured."
)
@seed_option("the faults")
@json_option
def faults(cluster_name: str, json_file: Path | None, **options: Any) -> None:
    """Goodput of one link under bit errors: two routers that always have flits for each other, every flit checked.

    Beside it the closed form of go-back-N, p the share of frames that are damaged and a the frames of a round trip; 1 where
    the two differ by more than 1 %.
    """

    def say(plan: Plan, rows: Sequence[Row]) -> None:
        print_line(f"{plan.title}, frames of {rows[0]['frame_bits']} bits, {options['cycles']} cycles")
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
                    yes(row["verified"]),
                ]
                for row in rows
            ),
            left=("verified",),
        )

    measured(operations.faults(Cluster.load(cluster_name), **options), say, json_file)
