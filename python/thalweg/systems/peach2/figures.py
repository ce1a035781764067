# SPDX-License-Identifier: Apache-2.0
"""Figure 6 of the paper on PEACH2's reduction calculator, with simulated times."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.papers import Row, short
from thalweg.papers.plots import save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HALVES = ((1 << 10, 256 << 10), (256 << 10, 16 << 20))
WAYS = {
    "cpu_us": ("processor, after copies out of the GPUs", "tab:gray", "s-"),
    "host_us": ("hub, polled by the host", "tab:blue", "o-"),
    "hub_us": ("hub alone", "tab:green", "^-"),
}


def plot(rows: Sequence[Row], folder: Path) -> list[Path]:
    return save({"figure-6": partial(_figure, rows)}, folder)


def _figure(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    points = [row for row in rows if row.id == "peach2.curve"]
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    halves = figure.subplots(1, 2)
    for axes, (first, last) in zip(halves, HALVES, strict=True):
        shown = [row for row in points if first <= row.about["bytes"] <= last]
        sizes = [row.about["bytes"] for row in shown]
        for way, (name, colour, style) in WAYS.items():
            axes.plot(sizes, [row.about[way] / 1e3 for row in shown], style, ms=4, color=colour, label=name)
        axes.set_xscale("log", base=2)
        axes.set_xticks(sizes, [short(size) for size in sizes])
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.set_xlabel("bytes")
        axes.grid(alpha=0.3)
    halves[0].set_ylabel("ms, ten reductions")
    halves[0].legend(frameon=False)
    figure.suptitle(
        "Reductions by PEACH2 and by the processor, simulated (Figure 6 of the paper, which has no numbers)"
    )
    return figure
