# SPDX-License-Identifier: Apache-2.0
"""`thalweg reproduce peach2`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from thalweg.commands.output import json_option, print_line, print_table, progress_bar, write_json
from thalweg.commands.papers import print_rows
from thalweg.errors import InputError
from thalweg.papers import Number, Row, short
from thalweg.papers.plots import check_plots
from thalweg.systems.peach2.figures import plot
from thalweg.systems.peach2.reproduce import PAPER, Evaluation


@click.command(context_settings={"max_content_width": 120})
@click.argument("paper", default=PAPER, metavar="[PAPER]")
@click.option(
    "--resources/--no-resources", default=True, show_default=True, help="Include Table 1 (needs Yosys: pyosys)."
)
@click.option(
    "--plot", "folder", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER", help="Also draw Figure 6."
)
@json_option
def command(paper: str, resources: bool, folder: Path | None, json_file: Path | None) -> None:
    """Measure the results of PEACH2's papers, and print published and measured numbers.

    Nothing is fitted. Notes give host parameters implied by a published number, where the paper states none.
    """
    if paper != PAPER:
        raise InputError(f"{paper!r} is not {PAPER}")
    if folder:
        check_plots(folder)
    evaluation = Evaluation(resources)
    with progress_bar(paper) as bar:
        rows = list(evaluation.rows(lambda what, done: bar(done, what=what)))
    _print(rows)
    write_json(json_file, [row.as_json() for row in rows], evaluation.cluster, seeds={"data": 1})
    if folder:
        for path in plot(rows, folder):
            click.echo(f"drawn: {path}")


def _print(rows: Sequence[Row]) -> None:
    curve = [row for row in rows if row.id == "peach2.curve"]
    print_line("ms per ten reductions: by the processor, by the hub polled by the host, by the hub alone")
    print_table(
        ["bytes", "processor", "hub, watched", "hub alone", "processor over hub"],
        (
            [short(row.about["bytes"]), *(row.about[f"{way}_us"] / 1e3 for way in ("cpu", "host", "hub")), row.measured]
            for row in curve
        ),
    )
    click.echo()
    print_rows([row for row in rows if row.id not in ("peach2.curve", "peach2.nodes")], _number)
    click.echo()
    print_line("us until all nodes have the result, without hosts")
    print_table(
        ["nodes", "bytes each", "time", "bound", "over it"],
        (
            [row.about["nodes"], short(row.about["bytes"]), row.about["time_us"], row.about["bound_us"], row.measured]
            for row in rows
            if row.id == "peach2.nodes"
        ),
    )


def _number(number: Number) -> str | None:
    if number is None:
        return None
    if isinstance(number, list):
        return " to ".join(f"{end:.3g}" for end in number)
    return f"{number:.6g}"
