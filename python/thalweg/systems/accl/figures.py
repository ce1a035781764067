# SPDX-License-Identifier: Apache-2.0
"""Plots of figures of the paper on ACCL with measured numbers: message latencies (4), weak (9) and strong scaling (10) of
shallow water, and improvements."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.papers import Row, short
from thalweg.papers.plots import save
from thalweg.systems.accl.b_eff import WAYS
from thalweg.systems.accl.reproduce import BY_HOSTS, HOST_MPI

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES = {
    HOST_MPI: ("tab:gray", "s-"),
    BY_HOSTS: ("tab:red", "o-"),
    "UDP": ("tab:blue", "o-"),
    "TCP": ("tab:orange", "o-"),
    "UDP, ES": ("tab:blue", "^:"),
    "TCP, ES": ("tab:orange", "^:"),
}


COLOURS = ("tab:blue", "tab:cyan", "tab:green", "tab:orange", "tab:red")


def plot(rows: Sequence[Row], folder: Path) -> list[Path]:
    drawn = {
        "figure-4": ("accl.figure4", messages),
        "figure-9": ("accl.figure9", weak),
        "figure-10": ("accl.figure10", strong),
        "improved": ("accl.improved", improved),
        "time-steps": ("accl.time_step", time_steps),
    }
    there = {row.id for row in rows}
    return save({name: partial(draw, rows) for name, (id_, draw) in drawn.items() if id_ in there}, folder)


def _rates(rows: Sequence[Row]) -> list[float]:
    """Elements per second in 10^9."""
    return [row.about["elements_per_s"] / 1e9 for row in rows]


def weak(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(8.5, 5), layout="constrained")
    axes = drawn.subplots()
    points = [row for row in rows if row.id == "accl.figure9"]
    for series, colour, marker in (
        ("UDP", "tab:blue", "o"),
        ("TCP", "tab:orange", "^"),
        ("host MPI", "tab:gray", "s"),
    ):
        of = [row for row in points if row.about["series"] == series]
        at = [row.about["boards"] for row in of]
        modelled = [row.about["modelled_per_s"] / 1e9 for row in of]
        axes.plot(at, _rates(of), marker, color=colour, label=series)
        axes.plot(at, modelled, "--", lw=1, color=colour)
    first = next(row for row in points if row.about["series"] == "UDP")
    counts = sorted({row.about["boards"] for row in points})
    axes.plot(counts, [_rates([first])[0] * count for count in counts], ":", color="black", lw=1, label="UDP, linear")
    axes.plot([], [], "--", lw=1, color="black", label="Equation 2")
    (tera,) = (row for row in rows if row.id == "accl.shallow_water.48")
    flop = tera.about["flop"]
    published = tera.published
    assert isinstance(published, float)
    label = f"published: {published} TFLOP/s, of unknown operations"
    axes.plot([48], [published * 1e3 / flop], "*", ms=11, color="tab:red", label=label)
    _logarithmic(axes, counts)
    axes.set_yscale("log", base=2)
    ticks = [2.0**power for power in range(-3, 5)]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_ylabel("10⁹ elements a second")
    tera_of = partial(_scaled, by=flop / 1e3), partial(_scaled, by=1e3 / flop)
    right = axes.secondary_yaxis("right", functions=tera_of)
    right.set_ylabel(f"TFLOP/s, {flop} operations per element")
    right.set_yticks([0.03, 0.1, 0.3, 1, 3], ["0.03", "0.1", "0.3", "1", "3"])
    axes.minorticks_off()
    right.minorticks_off()
    axes.legend(frameon=False, fontsize=9, loc="upper left")
    axes.set_title("Weak scaling: 6,200 to 6,800 elements per board, TCP 3,100 to 3,800 (Figure 9)")
    return drawn


def _scaled(values: Any, by: float) -> Any:
    return values * by


def strong(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(8.5, 5), layout="constrained")
    axes = drawn.subplots()
    points = [row for row in rows if row.id == "accl.figure10"]
    for elements, colour in zip(_elements(points), ("tab:blue", "tab:orange"), strict=True):
        of = [row for row in points if row.about["elements"] == elements]
        at = [row.about["boards"] for row in of]
        axes.plot(at, _rates(of), "o-", color=colour, label=f"{elements:,} elements")
        axes.plot(at, [row.about["modelled_per_s"] / 1e9 for row in of], "--", lw=1, color=colour)
        for row in of:
            axes.annotate(
                str(row.about["neighbours"]),
                (row.about["boards"], _rates([row])[0]),
                textcoords="offset points",
                xytext=(0, 7),
                ha="center",
                fontsize=9,
            )
    axes.plot([], [], "--", lw=1, color="black", label="Equation 2")
    _logarithmic(axes, [4, 8, 16, 24, 32, 48])
    axes.set_ylim(0, 1.08 * max(_rates(points)))
    axes.set_ylabel("10⁹ elements a second")
    axes.legend(frameon=False, loc="upper left", title="numbers: maximum neighbours of a board")
    axes.set_title("Strong scaling (Figure 10)")
    return drawn


def improved(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    points = [row for row in rows if row.id == "accl.improved"]
    drawn = Figure(figsize=(11, 4.8), layout="constrained")
    sizes = _elements(points)
    for axes, elements in zip(drawn.subplots(1, len(sizes)), sizes, strict=True):
        _series(axes, [row for row in points if row.about["elements"] == elements])
        axes.set_title(f"{elements:,} elements")
    drawn.suptitle("Strong scaling: the paper's version and improvements")
    return drawn


def time_steps(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(7, 4.8), layout="constrained")
    axes = drawn.subplots()
    points = [row for row in rows if row.id == "accl.time_step"]
    _series(axes, points)
    axes.legend(frameon=False, fontsize=9, title="time steps computed by")
    axes.set_title(f"Adaptive time steps, {points[0].about['elements']:,} elements")
    return drawn


def _series(axes: Axes, rows: Sequence[Row]) -> None:
    names = list(dict.fromkeys(row.about["series"] for row in rows))
    for name, colour in zip(names, COLOURS, strict=False):
        of = [row for row in rows if row.about["series"] == name]
        axes.plot([row.about["boards"] for row in of], _rates(of), "o-", color=colour, label=name)
    counts = {row.about["boards"] for row in rows}
    _logarithmic(axes, [count for count in (4, 8, 16, 20, 24, 32, 40, 48) if count in counts])
    axes.set_ylim(bottom=0)
    axes.set_ylabel("10⁹ elements a second")
    axes.legend(frameon=False, fontsize=9)


def _elements(rows: Sequence[Row]) -> list[int]:
    return sorted({row.about["elements"] for row in rows})


def _logarithmic(axes: Axes, counts: Sequence[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.minorticks_off()
    axes.set_xlabel("boards")
    axes.grid(alpha=0.3)


def messages(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(11, 5), layout="constrained")
    halves = drawn.subplots(1, 2, sharey=True)
    for axes, way in zip(halves, WAYS, strict=True):
        for series, (colour, style) in STYLES.items():
            points = [
                row
                for row in rows
                if row.id == "accl.figure4" and row.about["series"] == series and row.about.get("way", way) == way
            ]
            sizes = [row.about["bytes"] for row in points]
            label = series if series in (HOST_MPI, BY_HOSTS) else f"{series}, by kernels"
            axes.plot(sizes, [row.measured for row in points], style, ms=4, color=colour, label=label)
            if series == BY_HOSTS:
                axes.plot(sizes, [row.about["model_us"] for row in points], "k--", lw=1, label="Equation 1", zorder=3)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(sizes[::2], [short(size) for size in sizes[::2]])
        axes.minorticks_off()
        axes.set_yticks([1, 10, 100, 1000], ["1", "10", "100", "1000"])
        axes.set_xlabel("bytes")
        axes.set_title(way)
        axes.grid(alpha=0.3)
    halves[0].set_ylabel("latency in us")
    halves[1].legend(frameon=False, loc="upper left", bbox_to_anchor=(0, 0.57), fontsize=9)
    drawn.suptitle(
        "Messages between two boards, in both directions at once (Figure 4); ES: through the Ethernet switch"
    )
    return drawn
