# SPDX-License-Identifier: Apache-2.0
"""The paper's figures with simulated times: 8, 9, 13 to 15, 17 and 20; and Tables 2 to 4 as bars if blocks were
synthesized."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.papers import Row, short
from thalweg.papers.plots import save
from thalweg.systems.vcsn import models

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot(rows: Sequence[Row], folder: Path) -> list[Path]:
    figures = {
        "figures-8-and-9": partial(_transfers, rows),
        "figures-13-to-17": partial(_gathers, rows),
        "figure-20": partial(_large, rows),
    }
    if any(row.id == "vcsn.power" for row in rows):
        figures["tables-2-to-4"] = partial(_costs, rows)
    return save(figures, folder)


def _size_axis(axes: Axes, sizes: Sequence[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes[::2], [short(size) for size in sizes[::2]])
    axes.minorticks_off()
    axes.set_xlabel("bytes")
    axes.grid(alpha=0.3)


def _transfers(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    points = [row for row in rows if row.id == "vcsn.transfer"]
    sizes = [row.about["bytes"] for row in points]
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    times, rates = figure.subplots(1, 2)
    methods = (
        ("VCSN, simulated", "tab:blue", "o-", [row.measured for row in points]),
        ("DCN, simulated", "tab:orange", "s-", [row.about["dcn_us"] for row in points]),
        ("via the servers, rates only", "tab:gray", ":", [row.about["hosts_us"] for row in points]),
    )
    for name, colour, style, us in methods:
        times.plot(sizes, us, style, ms=4, color=colour, label=name)
        if "servers" not in name:
            rates.plot(sizes, [size / at / 1e3 for size, at in zip(sizes, us, strict=True)], style, ms=4, color=colour)
    times.set_yscale("log")
    times.set_ylabel("us, with the servers' steps")
    times.legend(frameon=False)
    lines = (
        ("Equation 2", models.vcsn_rate(), "tab:blue", "-"),
        ("VCSN with flow control", models.flow_controlled_rate(), "black", "--"),
        ("Equation 1", models.dcn_rate(), "tab:orange", "-"),
    )
    for name, rate, colour, style in lines:
        rates.axhline(rate / 1e9, color=colour, lw=0.8, ls=style, label=name)
    rates.set_ylabel("GB/s")
    rates.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, 0.92))
    rates.set_ylim(bottom=0)
    for axes in (times, rates):
        _size_axis(axes, sizes)
    figure.suptitle("A transfer between two FPGAs (Figures 8 and 9)")
    return figure


def _gathers(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.5), layout="constrained")
    for axes, nodes in zip(figure.subplots(1, 3, sharey=True), (4, 9, 16), strict=True):
        points = [row for row in rows if row.id == "vcsn.gather" and row.about["nodes"] == nodes]
        sizes = [row.about["bytes"] for row in points]
        axes.plot(sizes, [row.measured for row in points], "o", ms=5, color="tab:blue", label="VCSN, simulated")
        axes.plot(sizes, [row.about["equation_us"] for row in points], color="tab:blue", label="Equation 7, corrected")
        axes.plot(sizes, [row.about["dcn_us"] for row in points], "s", ms=5, color="tab:orange", label="DCN, simulated")
        axes.plot(
            sizes,
            [row.about["dcn_equation_us"] for row in points],
            color="tab:orange",
            label="its counterpart for DCN",
        )
        if points[0].about["servers_us"] is not None:
            axes.plot(
                sizes,
                [row.about["servers_us"] for row in points],
                ":",
                color="tab:gray",
                label="MPI_Gather of servers, a model",
            )
        axes.set_yscale("log")
        axes.set_title(f"{nodes} nodes")
        _size_axis(axes, sizes)
        if nodes == 4:
            axes.set_ylabel("us")
            axes.legend(frameon=False)
    figure.suptitle("Gather (Figures 13 to 15 and 17)")
    return figure


def _large(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for size, colour in ((64 << 10, "tab:green"), (256 << 20, "tab:red")):
        points = [row for row in rows if row.id.startswith("gather.ratio") and row.about["bytes"] == size]
        nodes = [row.about["nodes"] for row in points]
        axes.plot(nodes, [row.about["vcsn_s"] for row in points], "-", color=colour, label=f"VCSN, {short(size)} each")
        axes.plot(nodes, [row.about["dcn_s"] for row in points], "--", color=colour, label=f"DCN, {short(size)} each")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("nodes")
    axes.set_ylabel("s, by the corrected equations")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.suptitle("Gather on large clusters (Figure 20)")
    return figure


def _costs(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.5), layout="constrained")
    logic = [row for row in rows if row.unit == "LUT" and row.published is not None]
    power = [row for row in rows if row.id.endswith(".power")]
    names = {
        "vcsn.resources.sender": "MUX and\nencoder",
        "vcsn.resources.receiver": "DEMUX",
        "dcn.resources": "DCN's\nblocks",
    }
    for axes, of, ticks, unit in zip(
        figure.subplots(1, 2, width_ratios=[2, 1]),
        (logic, power),
        ([names.get(row.id, row.id.rpartition(".")[2]) for row in logic], [row.id[:-6].upper() for row in power]),
        ("ALMs, and LUTs of six inputs", "W of a board, estimates"),
        strict=True,
    ):
        places = range(len(of))
        axes.bar([at - 0.2 for at in places], [row.published for row in of], 0.4, color="tab:gray", label="the paper")
        axes.bar([at + 0.2 for at in places], [row.measured for row in of], 0.4, color="tab:blue", label="our blocks")
        axes.set_xticks(places, ticks)
        axes.set_ylabel(unit)
        axes.grid(alpha=0.3, axis="y")
    figure.axes[0].legend(frameon=False)
    figure.suptitle("Network blocks of a board (Tables 2 and 3), and its power with them (Table 4)")
    return figure
