# SPDX-License-Identifier: Apache-2.0
"""What commands of `thalweg bench` have in common: their options, the table of their rows, and the files they write."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from thalweg.bench.operation import ENGINES, Plan, Row
from thalweg.bench.plot import check_plot, plot
from thalweg.commands.named_files import ClusterName, OutputFile
from thalweg.commands.output import json_option, print_line, print_table, progress_bar, write_json
from thalweg.commands.pictures import Pictures, picture_options
from thalweg.errors import InputError
from thalweg.trace.page import Table

Option = Callable[[Any], Any]
Columns = Sequence[tuple[str, str]]
"""Each column's heading, and its key in the rows. Keys that begin with `share` are printed in percent."""

TIMES: Columns = (("bytes", "bytes"), ("time", "time_us"), ("bound", "bound_us"), ("share", "share"))


def cluster_option(preset: str) -> Option:
    return click.option(
        "--cluster",
        required=True,
        type=ClusterName(),
        metavar="C",
        help=f"A preset such as {preset}, or a cluster file.",
    )


def engine_option(parts: str) -> Option:
    return click.option(
        "--engine",
        type=click.Choice(ENGINES),
        default="sim",
        show_default=True,
        help=f"sim executes it, cycle by cycle; rtl with the hardware's {parts}, Verilated.",
    )


def sizes_option(default: str) -> Option:
    return click.option(
        "--sizes",
        default=default,
        show_default=True,
        metavar="S",
        help=f"Bytes: {default}, doubling, or a list such as 8,64,1K.",
    )


def seed_option(of: str) -> Option:
    return click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help=f"Of {of}.")


@dataclass(frozen=True)
class Outputs:
    """The files that a bench was asked to write beside its table."""

    json: Path | None
    plot: Path | None
    pictures: Pictures

    def check(self, plan: Plan) -> None:
        """Raises InputError before anything is measured, if a file cannot be made of it."""
        if self.plot:
            check_plot(self.plot)
        if self.pictures and isinstance(plan.record, str):
            raise InputError(f"{plan.operation} has no --trace and no --report: {plan.record}")


def outputs(command: Callable[..., None]) -> Callable[..., None]:
    """Decorator, next to the function: adds `--plot`, `--trace`, `--report` and `--json`; the function gets their values as `outputs`."""

    @functools.wraps(command)
    def collected(
        json_file: Path | None, plot_file: Path | None, trace_file: Path | None, page_file: Path | None, **values: Any
    ) -> None:
        command(outputs=Outputs(json_file, plot_file, Pictures(trace_file, page_file)), **values)

    plot_option = click.option(
        "--plot", "plot_file", type=OutputFile(), metavar="FILE", help="Also draw it: .png, .svg or .pdf."
    )
    decorated: Callable[..., None] = plot_option(picture_options(json_option(collected)))
    return decorated


def measure(plan: Plan, outputs: Outputs, own: Columns = (), before: Columns = (), workers: int = 1) -> Sequence[Row]:
    """Measures, prints, writes and draws the rows. The table has the columns `before`, those of all operations, and the operation's `own`.
    Raises WrongRows."""
    outputs.check(plan)
    with progress_bar(click.get_current_context().info_name or "") as progress:
        rows = plan.rows(progress, workers)
    table = table_of(plan, rows, [*before, *TIMES, *own])
    print_line(plan.title)
    print_line(f"times in us, until {plan.until}")
    print_table(table.columns, table.rows, left=table.left)
    write_json(outputs.json, rows, plan.cluster, seeds=plan.seeds)
    if outputs.plot:
        plot(rows, outputs.plot, plan.title, plan.draw)
    if outputs.pictures and not isinstance(plan.record, str):
        outputs.pictures.write(plan.record(rows), [f"Times are in us, until {plan.until}."], lambda: [table])
    plan.check(rows)
    return rows


def table_of(plan: Plan, rows: Sequence[Row], columns: Columns) -> Table:
    """A table of the columns that the rows have; without `verified` where nothing was executed."""
    shown = [(name, key) for name, key in columns if key in rows[0]]
    executed = rows[0]["verified"] is not None
    cells = [
        [*(_cell(key, row.get(key)) for _, key in shown), *(["yes" if row["verified"] else "NO"] if executed else [])]
        for row in rows
    ]
    left = [name for name, key in shown if any(isinstance(row.get(key), str) for row in rows)]
    return Table(
        "Times in us", [*(name for name, _ in shown), *(["verified"] if executed else [])], cells, [*left, "verified"]
    )


def _cell(key: str, value: Any) -> Any:
    return f"{value:.1%}" if key.startswith("share") and value is not None else value
