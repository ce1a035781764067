# SPDX-License-Identifier: Apache-2.0
"""Plots of `thalweg bench`: time and bound over size, latency over load, rates by share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.bench.operation import Row
from thalweg.errors import InputError
from thalweg.launch import scratch

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = (".png", ".svg", ".pdf")


def check_plot(path: Path) -> None:
    """Raises InputError if no plot can be drawn into `path`."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{str(path)!r} names no kind of picture; it has to end in {', '.join(FORMATS)}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError("--plot wants matplotlib: pip install 'thalweg[plot]'") from None


def plot(rows: Sequence[Row], path: Path, title: str = "") -> None:
    """Plots the rows of one operation on one cluster. `title` replaces the title that follows from the rows."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    draw = (
        _rate_by_share
        if "job" in rows[0]
        else _latency_over_load
        if rows[0]["operation"] == "traffic"
        else _cycles_over_reads
        if "reads" in rows[0]
        else _time_over_size
    )
    draw(axes, rows)
    if title:
        axes.set_title(title, fontsize=11)
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(frameon=False)
    try:
        with scratch.in_place_of(path) as new:
            figure.savefig(new, dpi=150)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path) from error


def _time_over_size(axes: Axes, rows: Sequence[Row]) -> None:
    from matplotlib.ticker import LogLocator

    colours = iter(("tab:blue", "tab:orange", "tab:green", "tab:red"))
    for of, time, bound, label in _lines(rows):
        colour = next(colours)
        sizes = [row["bytes"] for row in of]
        axes.plot(sizes, [row[time] for row in of], "o-", markersize=3.5, color=colour, label=label)
        if bound and of[0][bound] is not None:
            axes.plot(sizes, [row[bound] for row in of], "--", linewidth=1, color=colour, label=f"{label}, bound")
    sizes = sorted({row["bytes"] for row in rows})
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
    closed = ": closed form" * (rows[0].get("engine") == "model")
    ranks = f", {rows[0]['ranks']} ranks" if "ranks" in rows[0] else ""
    axes.set_title(f"{rows[0]['operation']}{ranks} on {rows[0]['cluster']}{closed}", fontsize=11)


def _lines(rows: Sequence[Row]) -> Iterator[tuple[Sequence[Row], str, str, str]]:
    """The lines of a plot: rows, the keys of their time and bound, and the label."""
    if "time_kernel_us" in rows[0]:
        yield rows, "time_kernel_us", "bound_kernel_us", "kernel to kernel"
        yield rows, "time_host_us", "bound_host_us", "host to host"
        return
    for operation in dict.fromkeys(row["operation"] for row in rows):
        of = [row for row in rows if row["operation"] == operation]
        if "linear_us" in of[0]:
            yield of, "time_us", "", f"{operation}, tree"
            yield of, "linear_us", "", f"{operation}, linear"
        else:
            yield of, "time_us", "bound_us", operation


def _cycles_over_reads(axes: Axes, rows: Sequence[Row]) -> None:
    for key, style, label in (
        ("cycles", "o-", "measured"),
        ("polling_cycles", "--", "by polling"),
        ("link_cycles", ":", "by the link's rate"),
    ):
        axes.plot([row["reads"] for row in rows], [row[key] for row in rows], style, markersize=3.5, label=label)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("reads from an input on end")
    axes.set_ylabel("cycles a message")


def _latency_over_load(axes: Axes, rows: Sequence[Row]) -> None:
    settled = sorted((row for row in rows if row["complete"]), key=lambda row: float(row["load"]))
    axes.plot(
        [row["load"] for row in settled],
        [row["average_latency_cycles"] for row in settled],
        "o-",
        markersize=3.5,
        label="average, creation to last flit",
    )
    for row in rows:
        if row.get("saturation"):
            axes.axvline(
                row["load"], linestyle="--", linewidth=1, color="tab:gray", label=f"saturation at {row['load']:g}"
            )
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.set_xlabel("load in flits per node and cycle")
    axes.set_ylabel("latency in cycles")
    axes.set_title(
        f"{rows[0]['pattern']} traffic, {rows[0]['packet_flits']}-flit packets on {rows[0]['cluster']}", fontsize=11
    )


def _short(size: float) -> str:
    for unit, name in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if size >= unit and size % unit == 0:
            return f"{size / unit:g}{name}"
    return f"{size:g}"


def _rate_by_share(axes: Axes, rows: Sequence[Row]) -> None:
    """Draws a group of bars for each way of sharing: the share of its rate that each job keeps, at the largest size."""
    largest = [row for row in rows if row["bytes"] == max(row["bytes"] for row in rows)]
    shares = list(dict.fromkeys(row["share"] for row in largest))
    jobs = sorted({row["job"] for row in largest})
    width = 0.8 / len(jobs)
    for job in jobs:
        own = [row for row in largest if row["job"] == job]
        places = [shares.index(row["share"]) + (job - (len(jobs) - 1) / 2) * width for row in own]
        axes.bar(places, [row["rate"] for row in own], 0.9 * width, label=f"job {job}: {own[0]['operation']}")
        parts = [(place, row["part"]) for place, row in zip(places, own, strict=True) if row["part"] is not None]
        for place, part in parts:
            axes.plot([place - width / 2, place + width / 2], [part, part], color="black", linewidth=1)
    axes.set_xticks(range(len(shares)), shares)
    axes.set_ylabel("rate, of that on an unshared fabric")
    axes.set_title(
        f"{len(jobs)} jobs on {rows[0]['cluster']}, {largest[0]['bytes']} bytes; lines: their parts", fontsize=11
    )
