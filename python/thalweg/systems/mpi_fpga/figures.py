# SPDX-License-Identifier: Apache-2.0
"""Figures of the MPI-FPGA paper with simulated curves, and the paper's software times."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.papers import Row, short
from thalweg.papers.plots import save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = {32: "tab:blue", 64: "tab:orange", 128: "tab:green"}


def plot(rows: Sequence[Row], folder: Path) -> list[Path]:
    """Draws every figure for which there are rows; returns the files."""
    figures = {"figures-8-9": _curves, "figure-10": _speedups}
    if any(row.id == "mpifpga.scaling" for row in rows):
        figures |= {"figure-11": _indirect, "figure-12": _ratios, "figure-13": _scaling}
    if any(row.id == "mpifpga.instances" for row in rows):
        figures["figure-14"] = _instances
    return save({name: partial(draw, rows) for name, draw in figures.items()}, folder)


def _of(rows: Sequence[Row], id_: str, **about: Any) -> list[Row]:
    return [row for row in rows if row.id == id_ and about.items() <= row.about.items()]


def _name(collective: str) -> str:
    return collective.replace("_", "-")


def _curves(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    collectives = list(dict.fromkeys(row.about["collective"] for row in rows if row.id == "mpifpga.curves"))
    figure = Figure(figsize=(14, 7), layout="constrained")
    panels = figure.subplots(2, 4)
    for axes, collective in zip(panels.flat, collectives, strict=False):
        for nodes, colour in _COLOURS.items():
            _curve(axes, rows, collective, nodes, colour)
        axes.set_title(_name(collective), fontsize=11)
        _logarithmic(axes)
        axes.set_xticks([8, 128, 2 << 10, 32 << 10, 512 << 10])
    for axes in panels[:, 0]:
        axes.set_ylabel("time in µs")
    for axes in panels[-1, :]:
        axes.set_xlabel("bytes")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    last = panels.flat[-1]
    last.axis("off")
    last.legend(handles, labels, loc="center", frameon=False)
    figure.suptitle("MPI-FPGA's direct network, simulated here, and the paper's software (Figures 8 and 9, Table 4)")
    return figure


def _curve(axes: Axes, rows: Sequence[Row], collective: str, nodes: int, colour: str) -> None:
    points = _of(rows, "mpifpga.curves", collective=collective, nodes=nodes, network="direct")
    points.sort(key=lambda row: row.about["bytes"])
    simulated = [row for row in points if "busy" in row.about]
    axes.plot(*_line(simulated), "o-", ms=3.5, color=colour, label=f"{nodes} nodes")
    axes.plot(*_line([simulated[-1], *(row for row in points if row not in simulated)]), ":", color=colour)
    software = _of(rows, "mpifpga.speedup", collective=collective, nodes=nodes)
    for row in (row for row in software if "software_us" in row.about):
        low, high = row.about["software_us"]
        offset = {32: 0.8, 64: 1.0, 128: 1.25}[nodes]  # side by side
        label = f"software, {nodes} nodes" if row is software[0] else None
        axes.plot(
            [row.about["bytes"] * offset] * 2,
            [low, high],
            "_-",
            lw=3,
            ms=7,
            mew=2,
            alpha=0.5,
            color=colour,
            label=label,
        )


def _indirect(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 7), layout="constrained")
    panels = figure.subplots(2, 3, sharey="row")
    for line, collective in zip(panels, ("allgather", "allreduce"), strict=True):
        for axes, nodes in zip(line, _COLOURS, strict=True):
            for network in ("direct", "indirect-8", "indirect-16", "indirect-28"):
                points = _of(rows, "mpifpga.curves", collective=collective, nodes=nodes, network=network)
                axes.plot(*_line([row for row in points if row.about["bytes"] <= 4096]), "o-", ms=3.5, label=network)
            if collective == "allreduce" and nodes == 128:
                sharp = [(row.about["bytes"], row.published) for row in rows if row.id == "mpifpga.sharp"]
                axes.plot(*zip(*sharp, strict=True), "x", color="black", label="SHArP, published")
                axes.legend(*([entries[-1]] for entries in axes.get_legend_handles_labels()), frameon=False, fontsize=9)
            axes.set_title(f"{collective}, {nodes} nodes", fontsize=11)
            _logarithmic(axes)
            axes.set_xticks([8, 64, 512, 4096])
        line[0].set_ylabel("time in µs")
    for axes in panels[-1]:
        axes.set_xlabel("bytes")
    panels[0, 0].legend(frameon=False, fontsize=9)
    return figure


def _ratios(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    measured_rows = [row for row in rows if row.id == "mpifpga.indirect_over_direct"]
    places = list(dict.fromkeys((row.about["collective"], row.about["nodes"]) for row in measured_rows))
    radices = sorted({row.about["radix"] for row in measured_rows})
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    axes.axhspan(*measured_rows[0].published, color="tab:gray", alpha=0.2, lw=0, label="the paper's, 1.2 to 1.9")  # type: ignore[misc]
    axes.axhline(1, color="black", lw=0.8)
    for i, radix in enumerate(radices):
        heights = [row.measured for row in measured_rows if row.about["radix"] == radix]
        x = [place + 0.25 * (i - 1) for place in range(len(places))]
        axes.bar(x, heights, 0.22, label=f"radix {radix}")  # type: ignore[arg-type]
    axes.set_xticks(range(len(places)), [f"{collective},\n{nodes} nodes" for collective, nodes in places])
    axes.set_ylabel("direct over indirect")
    axes.set_title("Short messages: times on the direct network over those on indirect ones", fontsize=11)
    axes.legend(frameon=False, fontsize=9, ncols=2)
    axes.set_ylim(top=2.9)
    return figure


def _instances(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    measured_rows = [row for row in rows if row.id == "mpifpga.instances"]
    figure = Figure(figsize=(9, 1 + 0.3 * len(measured_rows)), layout="constrained")
    axes = figure.subplots()
    for key, offset, label in (("software_us", -0.2, "in software"), ("fabric_us", 0.2, "in the network")):
        axes.barh(
            [y + offset for y in range(len(measured_rows))],
            [row.about[key] for row in measured_rows],
            0.38,
            label=label,
        )
    for y, row in enumerate(measured_rows):
        axes.annotate(
            f"{row.measured:.1f}x", (row.about["software_us"], y - 0.2), (4, 0), textcoords="offset points", va="center"
        )
    names = ("{program}, {nodes} nodes: {function}, {bytes} B, {place}".format_map(row.about) for row in measured_rows)
    axes.set_yticks(range(len(measured_rows)), list(names), fontsize=9)
    axes.invert_yaxis()
    axes.set_xlabel("time of a call in µs, and how many times as fast in the network")
    axes.margins(x=0.1, y=0.02)
    figure.legend(loc="outside upper right", ncols=2, frameon=False)
    return figure


def _scaling(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    points = [row for row in rows if row.id == "mpifpga.scaling"]
    nodes = [row.about["nodes"] for row in points]
    axes.plot(nodes, [row.measured for row in points], "o-", ms=3.5, label="host to host")  # type: ignore[arg-type]
    axes.plot(nodes, [row.about["bound_us"] for row in points], "--", lw=1, color="tab:gray", label="bound")
    axes.set_xscale("log", base=2)
    axes.set_xticks(nodes, [str(count) for count in nodes])
    axes.set_ylim(bottom=0)
    axes.grid(True, alpha=0.3)
    axes.set_xlabel("nodes")
    axes.set_ylabel("time in µs")
    axes.set_title("allreduce of 2048 bytes, switches of radix 28", fontsize=11)
    axes.legend(frameon=False)
    return figure


def _logarithmic(axes: Axes) -> None:
    from matplotlib.ticker import LogFormatter

    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(lambda size, _: short(int(size)))
    axes.xaxis.minorticks_off()
    axes.yaxis.set_major_formatter(lambda time, _: f"{time:g}")
    axes.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1, 0.4)))
    axes.grid(True, which="major", alpha=0.3)


def _line(rows: Sequence[Row]) -> tuple[list[int], list[float]]:
    return [row.about["bytes"] for row in rows], [row.measured for row in rows if isinstance(row.measured, float)]


def _speedups(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    measured_rows = [row for row in rows if row.id == "mpifpga.speedup" and "software_us" in row.about]
    collectives = list(dict.fromkeys(row.about["collective"] for row in measured_rows))
    sizes = sorted({row.about["bytes"] for row in measured_rows})
    figure = Figure(figsize=(12, 4.5), layout="constrained")
    panels = figure.subplots(1, len(sizes), sharey=True)
    for axes, size in zip(panels, sizes, strict=True):
        axes.axhspan(2.0, 32.6, color="tab:gray", alpha=0.15, lw=0, label="the paper's means over sizes, 2.0 to 32.6")
        axes.axhline(1, color="black", lw=0.8)
        for place, (nodes, colour) in enumerate(_COLOURS.items()):
            for x, collective in enumerate(collectives):
                (row,) = (
                    r for r in _of(measured_rows, "mpifpga.speedup", collective=collective, nodes=nodes, bytes=size)
                )
                low, high = row.measured  # type: ignore[misc]
                label = f"{nodes} nodes" if x == 0 else None
                axes.plot([x + 0.27 * (place - 1)] * 2, [low, high], "_-", lw=7, ms=9, mew=3, color=colour, label=label)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_xticks(range(len(collectives)), [_name(name) for name in collectives], rotation=25, ha="right")
        axes.set_title(f"{short(size)[:-1]} {short(size)[-1]}B", fontsize=11)
        axes.grid(True, axis="y", which="major", alpha=0.3)
    panels[0].set_ylabel("speed-up over Table 4, smallest to largest")
    panels[0].legend(frameon=False, fontsize=9, markerscale=0.5)
    return figure
