# SPDX-License-Identifier: Apache-2.0
"""What commands of `thalweg bench` have in common whose rows have one time and one bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from thalweg.bench.operation import ENGINES, Plan, Row
from thalweg.bench.plot import check_plot, plot
from thalweg.commands import completion
from thalweg.commands.output import OutputFile, print_line, print_table, progress_bar, write_json

Option = Callable[[Any], Any]
Columns = Sequence[tuple[str, str]]
"""Each one's name, and its key in the rows; those of keys that begin with `share` are printed in percent."""

TIMES: Columns = (("bytes", "bytes"), ("time", "time_us"), ("bound", "bound_us"), ("share", "share"))


def cluster_option(preset: str) -> Option:
    return click.option(
        "--cluster",
        required=True,
        shell_complete=completion.clusters,
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
        help="Bytes: 8:1M, doubling, or a list such as 8,64,1K.",
    )


plot_option = click.option(
    "--plot", "picture", type=OutputFile(), metavar="FILE", help="Also draw it: .png, .svg or .pdf."
)


def measure(plan: Plan, json_file: Path | None, picture: Path | None, columns: Columns) -> Sequence[Row]:
    """Measures, prints, writes and draws the rows. Raises WrongRows."""
    if picture:
        check_plot(picture)
    with progress_bar(click.get_current_context().info_name or "") as progress:
        rows = plan.rows(progress)
    print_line(plan.title)
    print_table([*(name for name, _ in columns), "verified"], [_cells(row, columns) for row in rows])
    write_json(json_file, rows, plan.cluster, seeds=plan.seeds)
    if picture:
        plot(rows, picture, plan.title.partition(";")[0])
    plan.check(rows)
    return rows


def _cells(row: Row, columns: Columns) -> list[Any]:
    cells = [f"{row[key]:.1%}" if key.startswith("share") else row[key] for _, key in columns]
    return [*cells, "yes" if row["verified"] else "NO"]
