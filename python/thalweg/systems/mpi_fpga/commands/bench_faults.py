# SPDX-License-Identifier: Apache-2.0
"""`thalweg bench faults`: goodput of a link with bit errors."""

from __future__ import annotations

from typing import Any

import click

from thalweg.commands.measured import Columns, Outputs, measure, outputs, seed_option
from thalweg.errors import InputError
from thalweg.systems.mpi_fpga import operations
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.commands.bench import cluster_option

BEFORE: Columns = (("bit errors", "bit_error_rate"), ("p", "frame_error_rate"))
COLUMNS: Columns = (("expected", "share_expected"),)


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
            self.fail(f"{value!r} is not a list of bit error rates below 0.01, such as 1e-4,1e-6", param, ctx)
        return rates


@click.command("faults")
@cluster_option
@click.option(
    "--rates", type=Rates(), default="1e-4,1e-5,1e-6,1e-7,1e-8", show_default=True, help="Bit error rates, a list."
)
@click.option("--cycles", type=click.IntRange(10_000), default=20_000_000, show_default=True, help="Measured cycles.")
@seed_option("the faults")
@outputs
def faults(cluster_name: str, outputs: Outputs, **options: Any) -> None:
    """Goodput of one link with bit errors between two saturated routers; every flit is checked.

    The share is the goodput. Expected is the closed form of go-back-N, (1-p)/(1+pa), with frame error rate p and a
    frames per round trip. Exit code 1 if they differ by more than 1 %.
    """
    measure(operations.faults(Cluster.load(cluster_name), **options), outputs, COLUMNS, BEFORE)
