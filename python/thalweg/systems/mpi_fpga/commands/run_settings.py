# SPDX-License-Identifier: Apache-2.0
"""Shared by `thalweg run` and `thalweg jobs`: settings of MPI programs, and the report."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import click

from thalweg.commands.named_files import InputFile
from thalweg.commands.output import print_line
from thalweg.commands.pictures import Pictures
from thalweg.errors import InputError
from thalweg.systems.mpi_fpga import choice, runs
from thalweg.systems.mpi_fpga.runs import RunSettings

if TYPE_CHECKING:
    from thalweg.systems.mpi_fpga.mpi.report import Report

T = TypeVar("T")


class Checked(click.ParamType[T], Generic[T]):
    """A value converted by a function that raises InputError."""

    def __init__(self, name: str, made: Callable[[str], T]) -> None:
        self.name = name
        self._made = made

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> T:
        if not isinstance(value, str):
            converted: T = value
            return converted
        try:
            return self._made(value)
        except InputError as error:
            self.fail(error.what, param, ctx)


_OPTIONS = (
    click.option(
        "--algorithm",
        "algorithms",
        type=Checked("COLLECTIVE=ALGORITHM,..", choice.wanted),
        default={},
        help="Algorithms of collectives in the network, e.g. allreduce=tree,allgather=exchange.",
    ),
    click.option(
        "--tuning",
        "tuning_file",
        type=InputFile(),
        metavar="FILE",
        help="Tuning file of `thalweg tune`: the fastest algorithms by size. [default: those of the presets]",
    ),
    click.option(
        "--reproducible",
        is_flag=True,
        help="Combine in an order that depends on rank numbers only: equal bits on every cluster and placement.",
    ),
    click.option(
        "--compute",
        type=Checked("measured|none|scale:X", runs.compute_scale),
        default="measured",
        show_default=True,
        help="Conversion of the ranks' processor time to virtual time.",
    ),
    click.option(
        "--skew",
        type=Checked("uniform|exponential:US[:SEED]", runs.checked_skew),
        help="Delay ranks at each collective: by up to, or by a mean of, US microseconds of virtual time. [seed: 1]",
    ),
    click.option(
        "--mpi",
        metavar="MPI",
        help="MPI: mpich (of the extra mpi), or the folder of an installed MPICH or Open MPI. [default: the one that the"
        " program is linked with; for scripts, mpich]",
    ),
    click.option(
        "--timeout",
        type=Checked("SECONDS", runs.seconds),
        default=600.0,
        show_default=True,
        metavar="S",
        help="Stop if no rank makes progress for this many seconds; 0: never.",
    ),
    click.option(
        "--operators",
        type=InputFile(),
        multiple=True,
        metavar="FILE.cpp",
        help="C++ file with user-defined operators and units in the switches; may be repeated.",
    ),
)


def run_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Decorator: adds the options, passed as `settings`."""

    @functools.wraps(command)
    def collected(**values: Any) -> None:
        settings = RunSettings(**{field.name: values.pop(field.name) for field in fields(RunSettings)})
        command(settings=settings, **values)

    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(_OPTIONS), collected)


def print_run(report: Report, pictures: Pictures) -> None:
    """Prints the report, and why programs ended early, to stderr; writes timeline and page, if requested."""
    from thalweg.systems.mpi_fpga.mpi.report_text import facts, print_report, tables

    sys.stdout.flush()
    for line in report.complaint:
        print_line(f"thalweg: {line}", sys.stderr)
    print_report(report, sys.stderr)
    if report.recorded:
        pictures.write(report.recorded, [*report.complaint, *facts(report)], lambda: tables(report))
