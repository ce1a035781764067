# SPDX-License-Identifier: Apache-2.0
"""`thalweg bench` of collectives, messages and traffic: measured over sizes or loads, verified, beside their bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from thalweg.bench.operation import Plan, Row, cores
from thalweg.bench.plot import check_plot, plot
from thalweg.commands import completion
from thalweg.commands.measured import plot_option
from thalweg.commands.output import json_option, print_line, print_table, progress_bar, write_json
from thalweg.commands.pictures import Pictures, picture_options
from thalweg.errors import InputError
from thalweg.launch import placement
from thalweg.systems.mpi_fpga import SYSTEM, bench, operations
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.faults import faults_option, recovery_text
from thalweg.systems.mpi_fpga.operations import OPERATIONS
from thalweg.systems.mpi_fpga.rtl_engine import ENGINES
from thalweg.trace.page import Table

Option = Callable[[Any], Any]

COLUMNS = ["bytes", "algorithm", "kernel", "bound", "share", "host", "bound", "share", "verified"]
TRAFFIC_COLUMNS = ["load", "accepted", "latency", "hops", "Mflit-hops/s", "Mrouter-cycles/s", "verified"]


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
    shell_complete=completion.clusters,
    metavar="C",
    help="A preset, a cluster file, or a shape in place such as torus:4x4.",
)
_common = _options(cluster_option, faults_option, plot_option, json_option)


def _engine(*engines: str) -> Option:
    text = "sim executes it, cycle by cycle"
    text += "; rtl with the hardware, Verilated, rtl-routers with its routers alone" * ("rtl" in engines)
    text += "; model has closed forms, and executes nothing" * ("model" in engines) + "."
    return click.option("--engine", type=click.Choice(engines), default="sim", show_default=True, help=text)


_engines = _engine(*ENGINES, operations.MODEL)
_sizes = click.option(
    "--sizes", default="4:1M", show_default=True, metavar="S", help="Bytes: 4:1M, doubling, or a list such as 4,64,1K."
)


def seed_option(of: str) -> Option:
    return click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help=f"Of {of}.")


def measured(
    plan: Plan,
    say: Callable[[Plan, list[Row]], None],
    json_file: Path | None,
    picture: Path | None = None,
    pictures: Pictures | None = None,
) -> None:
    """Measures, prints and writes files, then says what was wrong."""
    with progress_bar(click.get_current_context().info_name or "") as progress:
        rows = plan.rows(progress, cores())
    say(plan, rows)
    write_json(json_file, rows, plan.cluster, seeds=plan.seeds)
    if picture:
        plot(rows, picture)
    if pictures and plan.record:
        pictures.write(plan.record(rows), plan.cluster, [plan.title], lambda: [times_table(rows)])
    plan.check(rows)


def yes(right: bool) -> str:
    return "yes" if right else "NO"


def _print_recoveries(rows: Sequence[Row]) -> None:
    for row in rows:
        for end in ("kernel", "host"):
            for recovery in row.get(f"recoveries_{end}", []):
                print_line(f"{row['bytes']} bytes, {end} to {end}: {recovery_text(recovery)}")


def _print_times(plan: Plan, rows: Sequence[Row]) -> None:
    print_line(plan.title)
    table = times_table(rows)
    print_table(table.columns, table.rows, left=table.left)
    _print_recoveries(rows)


def times_table(rows: Sequence[Row]) -> Table:
    columns = [name for name in COLUMNS if name != "algorithm" or "algorithm" in rows[0]]
    more = {"bandwidth_host_gbps": "Gb/s", "software_us": "in software"}
    also = [name for name in more if name in rows[0]]
    executed = rows[0]["verified"] is not None
    columns[-1:] = [*(more[name] for name in also), *(["verified"] if executed else [])]
    cells = [
        [
            row["bytes"],
            *([row["algorithm"]] if "algorithm" in row else []),
            *(
                row[f"{name}_{end}{unit}"]
                for end in ("kernel", "host")
                for name, unit in (("time", "_us"), ("bound", "_us"), ("share", ""))
            ),
            *(row[name] for name in also),
            *([yes(row["verified"])] if executed else []),
        ]
        for row in rows
    ]
    return Table("Times in us", columns, cells, ["algorithm", "verified"])


_OPTIONS: dict[str, Option] = {
    "engine": _engines,
    "ranks": click.option("--ranks", type=click.IntRange(1), metavar="N", help="All nodes where it is not given."),
    "placement": placement.option,
    "algorithm": click.option(
        "--algorithm",
        type=click.Choice(operations.ALGORITHMS),
        default="auto",
        show_default=True,
        help="auto: the one that is fastest at a size.",
    ),
    "sizes": _sizes,
    "seed": seed_option("random data"),
    "root": click.option("--root", type=click.IntRange(0), default=0, show_default=True, help="The root's rank."),
    "op": click.option(
        "--op", type=click.Choice(operations.OPERATORS), default="sum", show_default=True, help="What combines."
    ),
    "type": click.option(
        "--type",
        type=click.Choice(operations.TYPES),
        help="Of the elements; float64 where all sizes are multiples of 8 bytes, else float32.",
    ),
    "reproducible": click.option(
        "--reproducible",
        is_flag=True,
        help="In an order of the ranks' numbers alone: the same bits on every cluster, in every placement.",
    ),
    "hops": click.option(
        "--hops", type=click.IntRange(1), default=1, show_default=True, help="Links between the two nodes."
    ),
}
"""Those of collectives and messages."""


def _of_sizes(name: str) -> click.Command:
    """The subcommand of a collective or of messages, with the options that it has."""

    def run(
        cluster_name: str,
        faults: str | None,
        picture: Path | None,
        trace_file: Path | None,
        page_file: Path | None,
        json_file: Path | None,
        **options: Any,
    ) -> None:
        if picture:
            check_plot(picture)
        plan = OPERATIONS[name].plan(Cluster.load(cluster_name, faults), **options)
        pictures = Pictures(trace_file, page_file)
        if pictures and plan.record is None:
            raise InputError("--trace and --report show what is executed, and this engine executes nothing")
        measured(plan, _print_times, json_file, picture, pictures)

    options = [_OPTIONS[option] for option in OPERATIONS[name].options]
    return click.command(name, help=SYSTEM.operations[name].help)(_options(_common, picture_options, *options)(run))


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
    help="Where packets go: anywhere; row and column swapped; a tenth of them to node 0.",
)
@click.option(
    "--packet",
    type=click.Choice(operations.PACKETS),
    default=8,
    show_default=True,
    help="Flits of a packet.",
)
@click.option(
    "--load",
    type=Load(),
    default=0.2,
    show_default=True,
    metavar="X",
    help="Flits offered per node and cycle; 'sweep' goes from 0.05 to saturation, where latency is three times that.",
)
@click.option("--cycles", type=click.IntRange(1), default=100_000, show_default=True, help="Cycles that are measured.")
@click.option("--warmup", type=click.IntRange(0), default=10_000, show_default=True, help="Cycles before them.")
@seed_option("random data")
def traffic(
    cluster_name: str,
    faults: str | None,
    engine: str,
    picture: Path | None,
    json_file: Path | None,
    **options: Any,
) -> None:
    """Random traffic on the plain network, every flit checked where it arrives."""
    if picture:
        check_plot(picture)
    plan = operations.traffic(Cluster.load(cluster_name, faults), **options)
    measured(plan, _print_traffic, json_file, picture)


def _print_traffic(plan: Plan, rows: Sequence[Row]) -> None:
    print_line(plan.title)
    print_table(
        TRAFFIC_COLUMNS,
        (
            [
                row["load"],
                row["accepted_load"],
                row["average_latency_cycles"],
                row["average_hops"],
                *(row[what] / row["cpu_s"] / 1e6 if row["cpu_s"] else None for what in ("flit_hops", "router_cycles")),
                yes(row["verified"]),
            ]
            for row in rows
        ),
        left=("verified",),
    )
    for row in rows:
        if row.get("saturation"):
            click.echo(f"saturation at load {row['load']:g}")


COMMANDS: dict[str, click.Command] = {
    **{name: _of_sizes(name) for name in (*bench.COLLECTIVES, *operations.MESSAGES)},
    "traffic": traffic,
}
