# SPDX-License-Identifier: Apache-2.0
"""What `thalweg run` and `thalweg jobs` have in common: the options that say how MPI programs run, and the report."""

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
    """What a function makes of a text; it raises InputError."""

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
        help="Algorithms of collectives in the network, such as allreduce=tree,allgather=exchange.",
    ),
    click.option(
        "--tuning",
        "tuning_file",
        type=InputFile(),
        metavar="FILE",
        help="The fastest algorithms by size, as `thalweg tune` found them. [default: those of the presets]",
    ),
    click.option(
        "--reproducible",
        is_flag=True,
        help="Combine in an order of the ranks' numbers alone: the same bits on every cluster, in every placement.",
    ),
    click.option(
        "--compute",
        type=Checked("measured|none|scale:X", runs.compute_scale),
        default="measured",
        show_default=True,
        help="How the ranks' own processor time counts as virtual time.",
    ),
    click.option(
        "--skew",
        type=Checked("uniform|exponential:US[:SEED]", runs.checked_skew),
        help="Ranks come late to each collective: by up to, or by a mean of, so many us of virtual time. [seed: 1]",
    ),
    click.option(
        "--mpi",
        default="mpich",
        show_default=True,
        metavar="MPI",
        help="mpich: the one of thalweg[mpi]; else the folder of an installed MPICH or Open MPI.",
    ),
    click.option(
        "--timeout",
        type=Checked("SECONDS", runs.seconds),
        default=600.0,
        show_default=True,
        metavar="S",
        help="Give up when no rank gets any further for so many seconds; 0 never does.",
    ),
    click.option(
        "--operators",
        type=InputFile(),
        multiple=True,
        metavar="FILE.cpp",
        help="Operators of your own in the switches, for operations that programs name, and units before and after them.",
    ),
)


def run_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options; it gets their values as `settings`."""

    @functools.wraps(command)
    def collected(**values: Any) -> None:
        settings = RunSettings(**{field.name: values.pop(field.name) for field in fields(RunSettings)})
        command(settings=settings, **values)

    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(_OPTIONS), collected)


def print_run(report: Report, pictures: Pictures) -> None:
    """On stderr: why programs ended early, and what the network did; draws the pictures that were asked for."""
    from thalweg.systems.mpi_fpga.mpi.report_text import facts, print_report, tables

    sys.stdout.flush()
    for line in report.complaint:
        print_line(f"thalweg: {line}", sys.stderr)
    print_report(report, sys.stderr)
    if report.recorded:
        pictures.write(report.recorded, [*report.complaint, *facts(report)], lambda: tables(report))
