# SPDX-License-Identifier: Apache-2.0
"""Plots of `thalweg bench`: file formats, and the plot shared by most operations, time and bound over size."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg import extras
from thalweg.errors import InputError
from thalweg.files import writing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Drawing = Callable[["Axes", Sequence[dict[str, Any]]], None]
"""Draws the rows of one plan and labels the axes; title, grid and legend are added afterwards."""

FORMATS = (".png", ".svg", ".pdf")
_TITLE_WIDTH = 80  # in characters
_INSIDE = 6  # maximum number of legend lines inside the axes


def check_plot(path: Path) -> None:
    """Raises InputError if `path` has no supported format or matplotlib is missing."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{str(path)!r} has an unknown format; the name must end in {', '.join(FORMATS)}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise extras.missing("--plot needs matplotlib", "plot") from None


def plot(rows: Sequence[dict[str, Any]], path: Path, title: str, draw: Drawing) -> None:
    """Draws the rows of one plan into a file. Raises InputError if it cannot be written."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    draw(axes, rows)
    axes.set_title(textwrap.fill(title, _TITLE_WIDTH), fontsize=11)
    axes.grid(True, which="major", alpha=0.3)
    if len(axes.get_legend_handles_labels()[1]) > _INSIDE:
        figure.set_figwidth(11)
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    else:
        axes.legend(frameon=False)
    with writing(path) as file:
        figure.savefig(file, dpi=150, format=path.suffix[1:].lower())


def time_over_size(axes: Axes, rows: Sequence[dict[str, Any]]) -> None:
    lines_over_size(axes, [(rows, "time_us", "bound_us", "measured")])


def lines_over_size(axes: Axes, lines: Sequence[tuple[Sequence[dict[str, Any]], str, str, str]]) -> None:
    """Draws times over sizes, with dashed bounds.

    Each line is a tuple: rows, the columns of the time and of the bound (or ""), and a label.
    """
    from matplotlib.ticker import LogLocator

    for number, (rows, time, bound, label) in enumerate(lines):
        colour = f"C{number}"  # matplotlib's color cycle
        of = [row["bytes"] for row in rows]
        axes.plot(of, [row[time] for row in rows], "o-", markersize=3.5, color=colour, label=label)
        if bound and rows[0][bound] is not None:
            named = f"{label}, bound" if len(lines) > 1 else "bound"
            style = "--" if len(rows) > 1 else "_"  # a single size would draw no line
            axes.plot(of, [row[bound] for row in rows], style, linewidth=1, color=colour, label=named)
    sizes = sorted({row["bytes"] for rows, *_ in lines for row in rows})
    if len(sizes) > 1:
        axes.set_xscale("log", base=2)
    axes.set_xticks(sizes[:: max(1, len(sizes) // 9)])
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(lambda size, _: _short(size))
    axes.xaxis.minorticks_off()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(lambda time, _: f"{time:g}")
    axes.yaxis.set_minor_formatter("")
    axes.set_xlabel("bytes")
    axes.set_ylabel("time in µs")


def _short(size: float) -> str:
    for unit, name in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if size >= unit and size % unit == 0:
            return f"{size / unit:g}{name}"
    return f"{size:g}"
