# SPDX-License-Identifier: Apache-2.0
"""`thalweg reproduce smi`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from thalweg.cluster import dram
from thalweg.commands.output import json_option, print_line, print_table, progress_bar, write_json
from thalweg.commands.papers import print_rows
from thalweg.errors import InputError
from thalweg.papers import Row, short
from thalweg.papers.plots import check_plots
from thalweg.systems.smi.figures import plot
from thalweg.systems.smi.reproduce import DOMAIN, PAPER, STEPS, Evaluation

TABLES = ("smi.curve", "smi.collective", "smi.gesummv", "smi.stencil.", "smi.weak")
"""Prefixes of the ids of rows with separate tables."""


@click.command(context_settings={"max_content_width": 120})
@click.argument("paper", default=PAPER, metavar="[PAPER]")
@click.option(
    "--programs/--no-programs",
    default=True,
    show_default=True,
    help="Include Figures 15, 18 and 19 (needs clang, takes minutes).",
)
@click.option(
    "--resources/--no-resources", default=True, show_default=True, help="Include Tables 1 and 2 (needs Yosys: pyosys)."
)
@click.option(
    "--plot",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Also draw the figures.",
)
@json_option
def command(paper: str, programs: bool, resources: bool, folder: Path | None, json_file: Path | None) -> None:
    """Measure the results of SMI's paper, and print published and measured numbers.

    Nothing is fitted, except the latency of one hop.
    """
    if paper != PAPER:
        raise InputError(f"{paper!r} is not {PAPER}")
    if folder:
        check_plots(folder)
    evaluation = Evaluation(programs, resources)
    with progress_bar(paper) as bar:
        rows = list(evaluation.rows(lambda what, done: bar(done, what=what)))
    _print(rows, evaluation)
    write_json(json_file, [row.as_json() for row in rows], evaluation.torus)
    if folder:
        for path in plot(rows, folder):
            click.echo(f"drawn: {path}")


def _print(rows: Sequence[Row], evaluation: Evaluation) -> None:
    shown = [row for row in rows if not row.id.startswith(TABLES)]
    print_rows(shown)
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
    if evaluation.programs:
        _print_programs(rows, evaluation)


def _print_programs(rows: Sequence[Row], evaluation: Evaluation) -> None:
    node = evaluation.torus.node
    click.echo()
    print_line("GESUMMV, us on one FPGA and on two (Figure 15)")
    print_table(
        ["rows", "columns", "one", "two", "published", "measured", "ratio"],
        (
            [
                *(row.about[key] for key in ("rows", "columns", "one_us", "two_us")),
                row.published,
                row.measured,
                row.ratio,
            ]
            for row in rows
            if row.id == "smi.gesummv"
        ),
    )
    click.echo()
    print_line(
        f"the stencil on {DOMAIN} x {DOMAIN} points, {STEPS} steps, times as fast as one bank of one FPGA (Figure 18)"
    )
    print_table(
        ["banks and FPGAs", "ms", "ideal", "measured", "STREAM", "published", "unexplained", "missing ms"],
        (
            [
                row.what.removeprefix("stencil, "),
                row.about["time_us"] / 1e3,
                row.about["ideal"],
                row.measured,
                row.about["stream_times"],
                row.published,
                row.about.get("unexplained"),
                row.about.get("missing_ms"),
            ]
            for row in rows
            if row.id.startswith("smi.stencil.") and "ideal" in row.about
        ),
        left=["banks and FPGAs"],
    )
    print_line(
        f"measured: kernels of {evaluation.torus.mhz:g} MHz; banks of {node.bank_gb:g} GB/s, "
        f"{dram.copy_gb(node, node.bank_gb):.2f} GB/s where 1 KByte is read and 1 KByte written in turn; the preset "
        f"{evaluation.torus.name} has the sources"
    )
    for banks, what in ((1, "of one bank"), (4, "of each of four banks")):
        print_line(
            f"STREAM: {evaluation.stream_gb(banks):.2f} GB/s {what} ({evaluation.numbers[f'smi.stream.{banks}']['where']})"
        )
    print_line(
        "unexplained: published over what STREAM's rates give, which nothing in the paper explains; missing: what it would be as a time beside "
        "the steps"
    )
    click.echo()
    print_line(
        "a step of the stencil, 4 banks, in us (Figure 19); what memory and halos need at least; and the two sides of the inequality of section "
        "5.4.2, which says that halos are hidden where the first is larger, and leaves out latency"
    )
    print_table(
        ["points", "FPGAs", "ns a point", "step", "memory", "halos", "interior", "all halos"],
        (
            [f"{row.about['size']} x {row.about['size']}", row.about["ranks"], row.about["point_ns"], row.measured]
            + [row.about[key] for key in ("memory_us", "halos_us", "interior_us", "volume_us")]
            for row in rows
            if row.id == "smi.weak"
        ),
    )
    for row in rows:
        if row.id in ("smi.stencil.bus", "smi.stencil.weak"):
            print_line(f"{row.what}: {row.measured:.3f} times; published {row.published:g}")
