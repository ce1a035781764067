# SPDX-License-Identifier: Apache-2.0
"""`thalweg reproduce mpi-fpga`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from thalweg.commands.output import json_option, print_line, print_table, progress_bar, write_json
from thalweg.papers import Number, Row, short
from thalweg.papers.plots import check_plots
from thalweg.systems.mpi_fpga.bench import SEED
from thalweg.systems.mpi_fpga.figures import plot
from thalweg.systems.mpi_fpga.reproduce import COLLECTIVES, PAPER, evaluation


@click.command(context_settings={"max_content_width": 120})
@click.argument("paper", default=PAPER, metavar="[PAPER]")
@click.option(
    "--only",
    "collectives",
    type=click.Choice(COLLECTIVES),
    multiple=True,
    help="Only this collective; may be repeated.",
)
@click.option("--full", is_flag=True, help="All sizes of the figures, 4 B to 4 MB; takes much longer.")
@click.option(
    "--plot",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Also draw the figures.",
)
@json_option
def command(paper: str, collectives: tuple[str, ...], full: bool, folder: Path | None, json_file: Path | None) -> None:
    """Measure the results of a PAPER, and print published and measured numbers.

    Nothing is fitted. Notes explain deviations of more than a quarter.
    """
    wanted = evaluation(paper, collectives, full)
    if folder:
        check_plots(folder)
    with progress_bar(paper) as bar:
        rows = list(wanted.rows(lambda what, done: bar(done, what=what)))
    _print(rows)
    clusters = wanted.measured.clusters.values()
    write_json(json_file, [row.as_json() for row in rows], *clusters, seeds={"data": SEED})
    if folder:
        for path in plot(rows, folder):
            click.echo(f"drawn: {path}")


def _print(rows: Sequence[Row]) -> None:
    points = [row for row in rows if row.about.get("network") == "direct"]
    print_line("times in us, host to host, on direct tori; ~ marks linear extrapolation")
    _grid(points, "bytes", short)
    beside = [row for row in rows if row.published is not None]
    notes = list(dict.fromkeys(row.note for row in beside if row.differs))
    click.echo()
    print_table(
        ["number", "what", "published", "measured", "unit", "ratio", "note"],
        (
            [
                row.id,
                row.what,
                _number(row.published),
                _number(row.measured),
                row.unit,
                row.ratio,
                f"({notes.index(row.note) + 1})" if row.differs else "",
            ]
            for row in beside
        ),
        left=["number", "what", "unit", "note"],
    )
    for number, note in enumerate(notes, start=1):
        print_line(f"({number}) {note}")
    if scaling := [row for row in rows if row.id == "mpifpga.scaling"]:
        click.echo()
        print_line("us on indirect networks: short sizes, and 2 KB with switches of radix 28")
        short_ones = [row for row in rows if str(row.about.get("network")).startswith("indirect-")]
        _grid([row for row in short_ones if "changed" not in row.about], "bytes", short, "network")
        print_table(["nodes", "us"], ([row.about["nodes"], row.measured] for row in scaling))
    if instances := [row for row in rows if row.id == "mpifpga.instances"]:
        click.echo()
        print_line("speed-ups of each collective in our own programs, as in Figure 14")
        print_table(
            ["what", "speed-up", "note"], ([row.what, row.measured, row.note] for row in instances), ["what", "note"]
        )
    click.echo()
    print_line("us of long collectives without what holds them up")
    changed = [row for row in rows if "changed" in row.about]
    print_table(["what", "us", "note"], ([row.what, row.measured, row.note] for row in changed), left=["what", "note"])
    click.echo()
    print_line("us of 1 KB with other latencies of PCIe, which the paper doesn't give, in ns each way")
    _grid([row for row in rows if "pcie_latency_ns" in row.about], "pcie_latency_ns", lambda ns: f"{ns:g}")
    click.echo()
    print_line("us of 1 KB on tori of other shapes, which the paper doesn't give either")
    _grid([row for row in rows if "shape" in row.about], "shape", str)


def _grid(rows: Sequence[Row], column: str, name: Callable[[Any], str], *more: str) -> None:
    """Prints a table of times: a row per collective, number of nodes and columns `more`; a column per value of
    `column`."""
    down = ("collective", "nodes", *more)
    columns = sorted({row.about[column] for row in rows})
    times = {(*(row.about[key] for key in down), row.about[column]): row for row in rows}
    lines = sorted({key[:-1] for key in times})
    print_table(
        [*down, *map(name, columns)],
        ([*line, *(_time(times.get((*line, place))) for place in columns)] for line in lines),
        left=["collective", *more],
    )


def _time(row: Row | None) -> str | None:
    if row is None:
        return None
    return f"{'~' * ('straight line' in row.note)}{row.measured:.4g}"


def _number(number: Number) -> str:
    if isinstance(number, list):
        return " to ".join(f"{end:.3g}" for end in number)
    return f"{number:.6g}"
