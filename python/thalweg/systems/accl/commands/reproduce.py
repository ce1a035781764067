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
from thalweg.systems.accl.reproduce import BY_HOSTS, DEFAULT, HOST_MPI, PAPER, SIZES, SUBJECTS, Evaluation

TABLES = (
    "accl.figure",
    "accl.improved",
    "accl.l_comm",
    "accl.time_step",
    "accl.circuit_switched.partitions",
)
"""Prefixes of ids of rows with separate tables."""
LISTED = ("accl.l_comm.share", "accl.figure10.drops")


@click.command(context_settings={"max_content_width": 120})
@click.argument("paper", default=PAPER, metavar="[PAPER]")
@click.option(
    "--only",
    type=click.Choice(SUBJECTS),
    multiple=True,
    default=DEFAULT,
    show_default=True,
    help="Subjects: messages (section 3.4, seconds), application (section 4, minutes; needs the extra shallow-water), resources (section 3.3 and "
    "Table 1, some ten minutes at first use; needs Yosys).",
)
@click.option(
    "--plot",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Draw the figures into this folder.",
)
@json_option
def command(paper: str, only: Sequence[str], folder: Path | None, json_file: Path | None) -> None:
    """Measure what the paper on ACCL published, and print both numbers side by side.

    No parameter is fitted. If a published number implies another value than the preset's, that value is printed, too.
    """
    if paper != PAPER:
        raise InputError(f"{paper!r} is not {PAPER}")
    if folder:
        check_plots(folder)
    evaluation = Evaluation(only)
    with progress_bar(paper) as bar:
        rows = list(evaluation.rows(lambda what, done: bar(done, what=what)))
    print_rows([row for row in rows if row.id in LISTED or not row.id.startswith(TABLES)], _number)
    if "messages" in only:
        for way in WAYS:
            click.echo()
            _print_curves([row for row in _of(rows, "accl.figure4") if row.about.get("way", way) == way], way)
    if "application" in only:
        _print_application(rows)
    if "resources" in only:
        _print_resources(_of(rows, "accl.figure3"))
    write_json(json_file, [row.as_json() for row in rows], evaluation.cluster, seeds={"data": 1})
    if folder:
        for path in plot(rows, folder):
            click.echo(f"drawn: {path}")


def _of(rows: Sequence[Row], id_: str) -> list[Row]:
    return [row for row in rows if row.id == id_]


def _print_curves(rows: Sequence[Row], way: str) -> None:
    print_line(f"us of {way} messages, in both directions at once (Figure 4); ES: through the Ethernet switch")
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


def _print_application(rows: Sequence[Row]) -> None:
    click.echo()
    print_line("shallow water, 10^9 elements per second, weak scaling (Figure 9); Eq 2: the paper's model")
    weak = _of(rows, "accl.figure9")
    print_table(
        ["by", "boards", "elements", "neighbours", "measured", "Eq 2", "TFLOP/s", "stalled"],
        (
            [
                row.about["series"],
                *(row.about[key] for key in ("boards", "elements", "neighbours")),
                row.measured,
                row.about["modelled_per_s"] / 1e9,
                row.about["tflop_per_s"],
                f"{row.about['stalled']:.1%}",
            ]
            for row in weak
        ),
        left=["by"],
    )
    click.echo()
    print_line(
        "the same in strong scaling (Figure 10); L_comm in us, measured and by Equation 3, where pipelines stall"
    )
    waits = {(row.about["elements"], row.about["boards"]): row for row in _of(rows, "accl.l_comm")}
    lines = []
    for row in _of(rows, "accl.figure10"):
        wait = waits.get((row.about["elements"], row.about["boards"]))
        line = [row.about[key] for key in ("elements", "boards", "neighbours")]
        line += [row.measured, row.about["modelled_per_s"] / 1e9, f"{row.about['stalled']:.1%}"]
        lines.append([*line, *((wait.measured, wait.about["modelled_us"]) if wait else (None, None))])
    print_table(["elements", "boards", "neighbours", "measured", "Eq 2", "stalled", "L_comm", "Eq 3"], lines)
    click.echo()
    partitions = _of(rows, "accl.circuit_switched.partitions")
    print_line("partitions with at most four neighbours, as directly connected boards with four ports need")
    print_table(["boards", "partitions"], ([row.about["boards"], row.measured] for row in partitions))
    click.echo()
    print_line("10^9 elements per second of the paper's version and of improvements; times: the best over the paper's")
    _print_series(_of(rows, "accl.improved"))
    click.echo()
    print_line("the same with adaptive time steps: an allreduce per step; messages are reordered")
    _print_series(_of(rows, "accl.time_step"))


def _print_series(rows: Sequence[Row]) -> None:
    """Prints a column per series."""
    names = list(dict.fromkeys(row.about["series"] for row in rows))
    places: dict[tuple[int, int], dict[str, Row]] = {}
    for row in rows:
        places.setdefault((row.about["elements"], row.about["boards"]), {})[row.about["series"]] = row
    print_table(
        ["elements", "boards", *names, "times"],
        (
            [*place, *(of[name].measured for name in names), max(row.about["times"] for row in of.values())]
            for place, of in places.items()
        ),
    )


def _print_resources(rows: Sequence[Row]) -> None:
    click.echo()
    print_line("FPGA resources of a board's engine and UDP stack")
    kinds = ["lut", "ff", "bram", "dsp"]
    print_table(
        ["part", "LUT", "FF", "block RAM", "DSP"],
        ([row.about["part"], *(row.about[kind] for kind in kinds)] for row in rows),
        left=["part"],
    )


def _number(number: Number) -> str | None:
    if number is None:
        return None
    if isinstance(number, list):
        return " to ".join(f"{end:.4g}" for end in number)
    return f"{number:.4g}"
