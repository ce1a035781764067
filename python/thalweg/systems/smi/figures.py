# SPDX-License-Identifier: Apache-2.0
"""Figures 11 to 13 of SMI's paper, on their axes, with our numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.reproduce import Row, short
from thalweg.reproduce.plots import save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {1: "tab:blue", 4: "tab:orange", 7: "tab:green"}
STYLES = {("smi-noctua", 4): "o-", ("smi-noctua", 8): "s-", ("smi-noctua-bus", 4): "o--", ("smi-noctua-bus", 8): "s--"}


def plot(rows: Sequence[Row], folder: Path) -> list[Path]:
    return save({"figure-11": partial(_bandwidth, rows), "figures-12-13": partial(_collectives, rows)}, folder)


def _sizes(axes: Axes, sizes: Sequence[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [short(size) for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("bytes")
    axes.grid(alpha=0.3)


def _bandwidth(rows: Sequence[Row]) -> Figure:
    from matplotlib import pyplot

    points = [row for row in rows if row.id == "smi.curve"]
    sizes = sorted({row.about["bytes"] for row in points})
    figure, axes = pyplot.subplots(figsize=(7.5, 4.5), layout="constrained")
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
    from matplotlib import pyplot

    points = [row for row in rows if row.id == "smi.collective"]
    sizes = sorted({row.about["bytes"] for row in points})
    figure, both = pyplot.subplots(1, 2, figsize=(11, 4.5), layout="constrained", sharey=True)
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
                axes.plot(sizes, [row.about["host_us"] for row in of], "k:", label=f"through hosts, {ranks} ranks")
        axes.set_yscale("log")
        axes.set_title(operation)
        _sizes(axes, sizes)
    both[0].set_ylabel("us")
    both[0].legend(frameon=False, fontsize=8)
    figure.suptitle("Broadcast and reduce of SMI, simulated (Figures 12 and 13 of the paper)")
    return figure
