# SPDX-License-Identifier: Apache-2.0
"""`thalweg reproduce accl`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from thalweg.commands.output import json_option, print_line, print_table, progress_bar, write_json
from thalweg.commands.papers import print_rows
from thalweg.errors import InputError
from thalweg.papers import Number, Row, short
from thalweg.papers.plots import check_plots
from thalweg.systems.accl.b_eff import WAYS
from thalweg.systems.accl.figures import plot
from thalweg.systems.accl.reproduce import BY_HOSTS, HOST_MPI, PAPER, SIZES, Evaluation


@click.command(context_settings={"max_content_width": 120})
@click.argument("paper", default=PAPER, metavar="[PAPER]")
@click.option(
    "--plot", "folder", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER", help="Also draw Figure 4."
)
@json_option
def command(paper: str, folder: Path | None, json_file: Path | None) -> None:
    """Measure what the paper on ACCL published of messages, and print both side by side.

    Nothing is fitted. Where a published number would need another value than the preset's, it is printed beside it.
    """
    if paper != PAPER:
        raise InputError(f"{paper!r} is not {PAPER}")
    if folder:
        check_plots(folder)
    evaluation = Evaluation()
    with progress_bar(paper) as bar:
        rows = list(evaluation.rows(lambda what, done: bar(done, what=what)))
    print_rows([row for row in rows if row.id != "accl.figure4"], _number)
    for way in WAYS:
        click.echo()
        _print_curves([row for row in rows if row.id == "accl.figure4" and row.about.get("way", way) == way], way)
    write_json(json_file, [row.as_json() for row in rows], evaluation.cluster, seeds={"data": 1})
    if folder:
        for path in plot(rows, folder):
            click.echo(f"drawn: {path}")


def _print_curves(rows: Sequence[Row], way: str) -> None:
    print_line(f"us of {way} messages, both ways at once (Figure 4); ES: through the Ethernet switch")
    us = {(row.about["series"], row.about["bytes"]): row.measured for row in rows}
    model = {row.about["bytes"]: row.about["model_us"] for row in rows if row.about["series"] == BY_HOSTS}
    series = list(dict.fromkeys(row.about["series"] for row in rows if row.about["series"] not in (HOST_MPI, BY_HOSTS)))
    print_table(
        ["bytes", HOST_MPI, BY_HOSTS, "Equation 1", *series],
        (
            [short(size), us[HOST_MPI, size], us[BY_HOSTS, size], model[size], *(us[name, size] for name in series)]
            for size in SIZES
        ),
    )


def _number(number: Number) -> str | None:
    if number is None:
        return None
    if isinstance(number, list):
        return " to ".join(f"{end:g}" for end in number)
    return f"{number:.4g}"
