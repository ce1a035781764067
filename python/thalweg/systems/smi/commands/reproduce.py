# SPDX-License-Identifier: Apache-2.0
"""`thalweg reproduce smi`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from thalweg.commands.output import json_option, print_line, print_table, progress_bar, write_json
from thalweg.errors import InputError
from thalweg.reproduce import Row, short
from thalweg.reproduce.plots import check_plots
from thalweg.systems.smi.figures import plot
from thalweg.systems.smi.reproduce import PAPER, Evaluation

CURVES = ("smi.curve", "smi.collective")


@click.command(context_settings={"max_content_width": 120})
@click.argument("paper", default=PAPER, metavar="[PAPER]")
@click.option(
    "--plot",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Also draw Figures 11 to 13.",
)
@json_option
def command(paper: str, folder: Path | None, json_file: Path | None) -> None:
    """Measure the microbenchmarks of SMI's paper, and print both numbers side by side.

    Nothing is fitted: of the times the preset has the latency of one hop alone.
    """
    if paper != PAPER:
        raise InputError(f"{paper!r} is not {PAPER}")
    if folder:
        check_plots(folder)
    evaluation = Evaluation()
    with progress_bar(paper) as bar:
        rows = list(evaluation.rows(lambda what, done: bar(done, what=what)))
    _print(rows)
    write_json(json_file, [row.as_json() for row in rows], evaluation.torus)
    if folder:
        for path in plot(rows, folder):
            click.echo(f"drawn: {path}")


def _print(rows: Sequence[Row]) -> None:
    shown = [row for row in rows if row.id not in CURVES]
    notes = list(dict.fromkeys(row.note for row in shown if row.note))
    print_table(
        ["what", "published", "measured", "unit", "ratio", "note"],
        (
            [
                row.what,
                row.published,
                row.measured,
                row.unit,
                row.ratio,
                f"({notes.index(row.note) + 1})" if row.note else "",
            ]
            for row in shown
        ),
        left=["what", "unit", "note"],
    )
    for number, note in enumerate(notes, start=1):
        print_line(f"({number}) {note}")
    collectives = [row for row in rows if row.id == "smi.collective"]
    click.echo()
    print_line("us of a broadcast and a reduce of floats; through the hosts by the closed form, a binomial tree")
    print_table(
        ["collective", "cluster", "ranks", "bytes", "time", "hosts"],
        (
            [
                *(row.about[key] for key in ("operation", "cluster", "ranks")),
                short(row.about["bytes"]),
                row.measured,
                row.about["host_us"],
            ]
            for row in collectives
        ),
        left=["cluster"],
    )
