# SPDX-License-Identifier: Apache-2.0
"""`thalweg bench` of collectives, messages and traffic, over sizes or loads, verified and with bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from thalweg.bench.operation import Row, cores
from thalweg.commands.measured import Columns, Outputs, measure, outputs, seed_option, sizes_option
from thalweg.commands.named_files import ClusterName
from thalweg.commands.output import print_line
from thalweg.errors import InputError
from thalweg.launch import placement
from thalweg.systems.mpi_fpga import SYSTEM, bench, operations
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.commands.threads import threads_option
from thalweg.systems.mpi_fpga.faults import faults_option, recovery_text
from thalweg.systems.mpi_fpga.operations import OPERATIONS
from thalweg.systems.mpi_fpga.rtl_engine import ENGINES

Option = Callable[[Any], Any]

COLUMNS: Columns = (
    ("kernel", "time_kernel_us"),
    ("bound", "bound_kernel_us"),
    ("share", "share_kernel"),
    ("algorithm", "algorithm"),
    ("Gb/s", "gbit_per_s"),
    ("in software", "software_us"),
)
TRAFFIC_COLUMNS: Columns = (
    ("accepted", "accepted_load"),
    ("latency", "average_latency_cycles"),
    ("hops", "average_hops"),
)


def _options(*options: Option) -> Option:
    def apply(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return apply


cluster_option = click.option(
    "--cluster",
    "cluster_name",
    required=True,
    type=ClusterName(),
    metavar="C",
    help="Preset, cluster file, or shape, e.g. torus:4x4.",
)
_common = _options(cluster_option, faults_option)


def _engine(*engines: str) -> Option:
    text = "sim: cycle-accurate simulator"
    text += "; rtl: with Verilated hardware; rtl-routers: with Verilated routers only" * ("rtl" in engines)
    text += "; model: closed forms, without execution" * ("model" in engines) + "."
    return click.option("--engine", type=click.Choice(engines), default="sim", show_default=True, help=text)


_engines = _engine(*ENGINES, operations.MODEL)


def _print_recoveries(rows: Sequence[Row]) -> None:
    for row in rows:
        for name, end in (("recoveries_kernel", "kernel"), ("recoveries", "host")):
            for recovery in row.get(name, []):
                print_line(f"{row['bytes']} bytes, {end} to {end}: {recovery_text(recovery)}")


_OPTIONS: dict[str, Option] = {
    "engine": _engines,
    "ranks": click.option("--ranks", type=click.IntRange(1), metavar="N", help="Number of ranks [default: all nodes]."),
    "placement": placement.option,
    "algorithm": click.option(
        "--algorithm",
        type=click.Choice(operations.ALGORITHMS),
        default="auto",
        show_default=True,
        help="Algorithm; auto: the fastest at each size.",
    ),
    "sizes": sizes_option("4:1M"),
    "seed": seed_option("random data"),
    "root": click.option("--root", type=click.IntRange(0), default=0, show_default=True, help="Rank of the root."),
    "op": click.option(
        "--op", type=click.Choice(operations.OPERATORS), default="sum", show_default=True, help="What combines."
    ),
    "type": click.option(
        "--type",
        type=click.Choice(operations.TYPES),
        help="Element type [default: float64 if all sizes are multiples of 8 bytes, else float32].",
    ),
    "reproducible": click.option(
        "--reproducible",
        is_flag=True,
        help="Combine in an order that depends on rank numbers only: equal bits on every cluster and placement.",
    ),
    "threads": threads_option,
    "hops": click.option(
        "--hops", type=click.IntRange(1), default=1, show_default=True, help="Number of links between the two nodes."
    ),
}
"""Options of collectives and messages."""


def _of_sizes(name: str) -> click.Command:
    """Returns the subcommand of a collective or of messages, with its options."""

    def run(cluster_name: str, faults: str | None, outputs: Outputs, **options: Any) -> None:
        plan = OPERATIONS[name].plan(Cluster.load(cluster_name, faults), **options)
        _print_recoveries(measure(plan, outputs, COLUMNS, workers=cores()))

    options = [_OPTIONS[option] for option in OPERATIONS[name].options]
    return click.command(name, help=SYSTEM.operations[name].help)(_options(_common, *options)(outputs(run)))


class Load(click.ParamType[float | str]):
    """Flits per node and cycle, or `sweep`."""

    name = "load"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | str:
        if value == operations.SWEEP:
            return operations.SWEEP
        try:
            load: float | str = float(value)
        except ValueError:
            load = str(value)
        try:
            operations.check_load(load)
        except InputError as error:
            self.fail(error.what, param, ctx)
        return load


@click.command()
@_common
@_engine("sim")
@click.option(
    "--pattern",
    type=click.Choice(operations.PATTERNS),
    default="uniform",
    show_default=True,
    help="Destinations: uniform, also the source itself; row and column swapped (transpose); a tenth to node 0 (hotspot).",
)
@click.option(
    "--packet",
    type=click.Choice(operations.PACKETS),
    default=8,
    show_default=True,
    help="Flits per packet.",
)
@click.option(
    "--load",
    type=Load(),
    default=0.2,
    show_default=True,
    metavar="X",
    help="Offered load in flits per node and cycle; 'sweep': from 0.05 to saturation (three times the latency at 0.05).",
)
@click.option("--cycles", type=click.IntRange(1), default=100_000, show_default=True, help="Measured cycles.")
@click.option("--warmup", type=click.IntRange(0), default=10_000, show_default=True, help="Warm-up cycles.")
@seed_option("random data")
@outputs
def traffic(cluster_name: str, faults: str | None, engine: str, outputs: Outputs, **options: Any) -> None:
    """Random traffic on the network without collectives; every flit is checked on arrival."""
    plan = operations.traffic(Cluster.load(cluster_name, faults), **options)
    rows = measure(plan, outputs, TRAFFIC_COLUMNS, before=[("load", "load")])
    for row in rows:
        if row.get("saturation"):
            click.echo(f"saturation at load {row['load']:g}")
    seconds = sum(row["cpu_s"] for row in rows)
    if seconds:
        flits, routers = (sum(row[what] for row in rows) / seconds / 1e6 for what in ("flit_hops", "router_cycles"))
        print_line(f"simulated at {flits:.4g} million flit-hops and {routers:.4g} million router-cycles per second")


COMMANDS: dict[str, click.Command] = {
    **{name: _of_sizes(name) for name in (*bench.COLLECTIVES, *operations.MESSAGES)},
    "traffic": traffic,
}
