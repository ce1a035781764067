# SPDX-License-Identifier: Apache-2.0
"""Figure 4 of the paper on ACCL with our times: streaming and buffered messages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.papers import Row, short
from thalweg.papers.plots import save
from thalweg.systems.accl.b_eff import WAYS
from thalweg.systems.accl.reproduce import BY_HOSTS, HOST_MPI

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLES = {
    HOST_MPI: ("tab:gray", "s-"),
    BY_HOSTS: ("tab:red", "o-"),
    "UDP": ("tab:blue", "o-"),
    "TCP": ("tab:orange", "o-"),
    "UDP, ES": ("tab:blue", "^:"),
    "TCP, ES": ("tab:orange", "^:"),
}


def plot(rows: Sequence[Row], folder: Path) -> list[Path]:
    return save({"figure-4": partial(figure, rows)}, folder)


def figure(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(11, 5), layout="constrained")
    halves = drawn.subplots(1, 2, sharey=True)
    for axes, way in zip(halves, WAYS, strict=True):
        for series, (colour, style) in STYLES.items():
            points = [row for row in rows if row.about.get("series") == series and row.about.get("way", way) == way]
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
    drawn.suptitle("Messages between two boards, both ways at once (Figure 4); ES: through the Ethernet switch")
    return drawn
