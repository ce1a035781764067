# SPDX-License-Identifier: Apache-2.0
"""`thalweg reproduce vcsn`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from thalweg.commands.output import json_option, print_line, print_table, progress_bar, write_json
from thalweg.commands.papers import print_rows
from thalweg.errors import InputError
from thalweg.papers import Row, short
from thalweg.papers.plots import check_plots
from thalweg.systems.vcsn.figures import plot
from thalweg.systems.vcsn.reproduce import PAPER, Evaluation, checked_largest

_CURVES = ("vcsn.transfer", "vcsn.gather")


@click.command(context_settings={"max_content_width": 120})
@click.argument("paper", default=PAPER, metavar="[PAPER]")
@click.option(
    "--largest", default="16M", show_default=True, metavar="S", help="Maximum block size of simulated gathers."
)
@click.option(
    "--resources/--no-resources", default=True, show_default=True, help="Include Tables 2 and 3 (needs Yosys: pyosys)."
)
@click.option(
    "--plot",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Also draw the figures.",
)
@json_option
def command(paper: str, largest: str, resources: bool, folder: Path | None, json_file: Path | None) -> None:
    """Measure the results of VCSN's paper, and print published and measured numbers.

    Nothing is fitted. Notes mark statements of the paper that do not follow from its equations.
    """
    if paper != PAPER:
        raise InputError(f"{paper!r} is not {PAPER}")
    if folder:
        check_plots(folder)
    evaluation = Evaluation(checked_largest(largest), resources)
    with progress_bar(paper) as bar:
        rows = list(evaluation.rows(lambda what, done: bar(done, what=what)))
    _print(rows)
    write_json(json_file, [row.as_json() for row in rows], evaluation.cluster, seeds={"data": 1})
    if folder:
        for path in plot(rows, folder):
            click.echo(f"drawn: {path}")


def _print(rows: Sequence[Row]) -> None:
    print_line("us and GB/s of a transfer between two FPGAs; via the servers by rates")
    print_table(
        ["bytes", "VCSN", "DCN", "servers", "VCSN, GB/s", "DCN, GB/s"],
        (
            [
                short(row.about["bytes"]),
                row.measured,
                *(row.about[key] for key in ("dcn_us", "hosts_us", "gb_per_s", "dcn_gb_per_s")),
            ]
            for row in rows
            if row.id == "vcsn.transfer"
        ),
    )
    click.echo()
    print_line(
        "us of a gather, by the simulator and by the corrected Equation 7 (for DCN its counterpart); and the utilization of the root's ports"
    )
    print_table(
        ["nodes", "bytes each", "VCSN", "Equation 7", "of ports", "DCN", "counterpart", "of ports"],
        (
            [
                row.about["nodes"],
                short(row.about["bytes"]),
                row.measured,
                row.about["equation_us"],
                f"{row.about['share']:.1%}",
                row.about["dcn_us"],
                row.about["dcn_equation_us"],
                f"{row.about['dcn_share']:.1%}",
            ]
            for row in rows
            if row.id == "vcsn.gather"
        ),
    )
    click.echo()
    print_rows([row for row in rows if row.id not in _CURVES])
