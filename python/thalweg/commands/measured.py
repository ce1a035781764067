# SPDX-License-Identifier: Apache-2.0
"""Shared by all `thalweg bench` commands: options, the table of results, and output files."""

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
"""Pairs of heading and key in the rows. Values of keys that start with `share` are printed in percent."""

TIMES: Columns = (("bytes", "bytes"), ("time", "time_us"), ("bound", "bound_us"), ("share", "share"))


def cluster_option(preset: str) -> Option:
    return click.option(
        "--cluster",
        required=True,
        type=ClusterName(),
        metavar="C",
        help=f"Preset, e.g. {preset}, or cluster file.",
    )


def engine_option(parts: str) -> Option:
    return click.option(
        "--engine",
        type=click.Choice(ENGINES),
        default="sim",
        show_default=True,
        help=f"sim: cycle-accurate simulator; rtl: the same with Verilated {parts}.",
    )


def sizes_option(default: str) -> Option:
    return click.option(
        "--sizes",
        default=default,
        show_default=True,
        metavar="S",
        help=f"Sizes in bytes: {default} (doubling), or a list, e.g. 8,64,1K.",
    )


def seed_option(of: str) -> Option:
    return click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help=f"Of {of}.")


@dataclass(frozen=True)
class Outputs:
    """Files that a benchmark writes beside its table."""

    json: Path | None
    plot: Path | None
    pictures: Pictures

    def check(self, plan: Plan) -> None:
        """Raises InputError before anything is measured if one of the files cannot be written or this plan cannot produce
        it."""
        if self.plot:
            check_plot(self.plot)
        if self.pictures and isinstance(plan.record, str):
            raise InputError(f"{plan.operation} supports neither --trace nor --report: {plan.record}")


def outputs(command: Callable[..., None]) -> Callable[..., None]:
    """Decorator for a command's function: adds `--plot`, `--trace`, `--report` and `--json`, passed as the argument
    `outputs`."""

    @functools.wraps(command)
    def collected(
        json_file: Path | None, plot_file: Path | None, trace_file: Path | None, page_file: Path | None, **values: Any
    ) -> None:
        command(outputs=Outputs(json_file, plot_file, Pictures(trace_file, page_file)), **values)

    plot_option = click.option(
        "--plot", "plot_file", type=OutputFile(), metavar="FILE", help="Also plot the results (.png, .svg or .pdf)."
    )
    decorated: Callable[..., None] = plot_option(picture_options(json_option(collected)))
    return decorated


def measure(plan: Plan, outputs: Outputs, own: Columns = (), before: Columns = (), workers: int = 1) -> Sequence[Row]:
    """Measures all rows, prints their table, and writes the output files.

    Columns are `before`, those common to all operations, then `own`. Raises WrongRows if a result is wrong.
    """
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
    """Returns a table of the columns that the rows contain; `verified` is left out if nothing was executed."""
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
