# SPDX-License-Identifier: Apache-2.0
"""Figures of SMI's paper with simulated numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.papers import Row, short
from thalweg.papers.plots import save
from thalweg.systems.smi.reproduce import DOMAIN, STEPS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {1: "tab:blue", 4: "tab:orange", 7: "tab:green"}
STYLES = {("smi-noctua", 4): "o-", ("smi-noctua", 8): "s-", ("smi-noctua-bus", 4): "o--", ("smi-noctua-bus", 8): "s--"}


def plot(rows: Sequence[Row], folder: Path) -> list[Path]:
    figures = {"figure-11": partial(_bandwidth, rows), "figures-12-13": partial(_collectives, rows)}
    if any(row.id == "smi.gesummv" for row in rows):
        figures |= {
            "figure-15": partial(_gesummv, rows),
            "figure-18": partial(_strong, rows),
            "figure-19": partial(_weak, rows),
        }
    return save(figures, folder)


def _sizes(axes: Axes, sizes: Sequence[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [short(size) for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("bytes")
    axes.grid(alpha=0.3)


def _bandwidth(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    points = [row for row in rows if row.id == "smi.curve"]
    sizes = sorted({row.about["bytes"] for row in points})
    figure = Figure(figsize=(7.5, 4.5), layout="constrained")
    axes = figure.subplots()
    for element, style in (("float", "o-"), ("double", "x--")):
        for hops, colour in COLOURS.items():
            of = [row for row in points if (row.about["element"], row.about["hops"]) == (element, hops)]
            name = f"{element}s, {hops} hop{'s' * (hops > 1)}"
            axes.plot(sizes, [row.about["gbit"] for row in of], style, ms=4, color=colour, label=name)
    first = [row for row in points if (row.about["element"], row.about["hops"]) == ("float", 1)]
    axes.plot(sizes, [row.about["host_gbit"] for row in first], "k:", label="through hosts, closed form")
    axes.axhline(35, color="gray", lw=0.8, ls="--")
    axes.set_ylabel("Gb/s of elements")
    axes.set_ylim(bottom=0)
    _sizes(axes, sizes)
    axes.legend(frameon=False, fontsize=8)
    figure.suptitle("Bandwidth of SMI, simulated (Figure 11 of the paper)")
    return figure


def _collectives(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    points = [row for row in rows if row.id == "smi.collective"]
    sizes = sorted({row.about["bytes"] for row in points})
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    both = figure.subplots(1, 2, sharey=True)
    for axes, operation in zip(both, ("broadcast", "reduce"), strict=True):
        for (cluster, ranks), style in STYLES.items():
            of = [
                row
                for row in points
                if tuple(row.about[key] for key in ("operation", "cluster", "ranks")) == (operation, cluster, ranks)
            ]
            name = f"{'line' if cluster.endswith('bus') else 'torus'}, {ranks} ranks"
            axes.plot(sizes, [row.about["time_us"] for row in of], style, ms=4, label=name)
            if cluster == "smi-noctua":
                hosts = [row.about["host_us"] for row in of]
                axes.plot(sizes, hosts, "k:" if ranks == 4 else "k-.", label=f"through hosts, {ranks} ranks")
        axes.set_yscale("log")
        axes.set_title(operation)
        _sizes(axes, sizes)
    both[0].set_ylabel("us")
    both[0].legend(frameon=False, fontsize=8)
    figure.suptitle("Broadcast and reduce of SMI, simulated (Figures 12 and 13 of the paper)")
    return figure


def _gesummv(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    points = [row for row in rows if row.id == "smi.gesummv"]
    figure = Figure(figsize=(7.5, 4.5), layout="constrained")
    axes = figure.subplots()
    for number, (key, name) in enumerate((("one_us", "one FPGA"), ("two_us", "two FPGAs"))):
        times = [row.about[key] / 1e3 for row in points]
        bars = axes.bar([at + 0.4 * number - 0.2 for at in range(len(points))], times, 0.38, label=name)
        axes.bar_label(bars, [f"{ms:.3g}" for ms in times], fontsize=8)
    axes.set_yscale("log")
    axes.set_ylabel("ms")
    names = [f"{row.about['rows']} x {row.about['columns']}\n{row.measured:.3f} times" for row in points]
    axes.set_xticks(range(len(points)), names, fontsize=8)
    axes.legend(frameon=False)
    figure.suptitle("GESUMMV, simulated (Figure 15 of the paper, which has 2.0 times)")
    return figure


def _strong(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    points = [row for row in rows if row.id.startswith("smi.stencil.") and "ideal" in row.about]
    figure = Figure(figsize=(7.5, 4.5), layout="constrained")
    axes = figure.subplots()
    shown = {
        "simulated, DRAM of the preset": [row.measured for row in points],
        "simulated, memory at the rate that STREAM measured": [row.about["stream_times"] for row in points],
        "published": [row.published or 1 for row in points],
    }
    for number, (name, times) in enumerate(shown.items()):
        bars = axes.bar([at + 0.3 * (number - 1) for at in range(len(points))], times, 0.28, label=name)
        axes.bar_label(bars, [f"{ratio:.3g}" for ratio in times], fontsize=8)
    axes.set_ylabel("times as fast as one bank of one FPGA")
    axes.set_xticks(range(len(points)), [row.what.removeprefix("stencil, ") for row in points], fontsize=8)
    axes.legend(frameon=False, fontsize=8)
    figure.suptitle(f"Stencil, {DOMAIN} x {DOMAIN} points, {STEPS} steps (Figure 18 of the paper)")
    return figure


def _weak(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    points = [row for row in rows if row.id == "smi.weak"]
    sizes = sorted({row.about["size"] for row in points})
    figure = Figure(figsize=(7.5, 4.5), layout="constrained")
    axes = figure.subplots()
    for ranks, colour in ((4, "tab:blue"), (8, "tab:orange")):
        of = [row for row in points if row.about["ranks"] == ranks]
        axes.plot(sizes, [row.about["point_ns"] for row in of], "o-", ms=4, color=colour, label=f"{ranks} FPGAs")
        least = [max(row.about["memory_us"], row.about["halos_us"]) * 1e3 / row.about["size"] ** 2 for row in of]
        axes.plot(sizes, least, ":", color=colour, label=f"{ranks} FPGAs, lower bound of memory and halos")
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("points along a side")
    axes.set_ylabel("ns a point")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)
    figure.suptitle("A step of the stencil, 4 banks an FPGA, simulated (Figure 19 of the paper)")
    return figure
