# SPDX-License-Identifier: Apache-2.0
"""Plots of MPI-FPGA's operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from thalweg.bench.operation import Row
from thalweg.bench.plot import lines_over_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def both_ends(axes: Axes, rows: Sequence[Row]) -> None:
    """Times and bounds over size, kernel to kernel and host to host."""
    lines_over_size(
        axes,
        [
            (rows, "time_kernel_us", "bound_kernel_us", "kernel to kernel"),
            (rows, "time_us", "bound_us", "host to host"),
        ],
    )


def latency_over_load(axes: Axes, rows: Sequence[Row]) -> None:
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


def rate_by_share(axes: Axes, rows: Sequence[Row]) -> None:
    """Plots a group of bars per sharing mode: the fraction of its rate that each job keeps, at the largest size."""
    largest = [row for row in rows if row["bytes"] == max(row["bytes"] for row in rows)]
    modes = list(dict.fromkeys(row["sharing"] for row in largest))
    jobs = sorted({row["job"] for row in largest})
    width = 0.8 / len(jobs)
    for job in jobs:
        own = [row for row in largest if row["job"] == job]
        places = [modes.index(row["sharing"]) + (job - (len(jobs) - 1) / 2) * width for row in own]
        axes.bar(places, [row["rate"] for row in own], 0.9 * width, label=f"job {job}: {own[0]['collective']}")
        parts = [(place, row["part"]) for place, row in zip(places, own, strict=True) if row["part"] is not None]
        for number, (place, part) in enumerate(parts):
            label = "share of the link" if job == jobs[-1] and not number else None
            axes.plot([place - width / 2, place + width / 2], [part, part], color="black", linewidth=1, label=label)
    axes.set_xticks(range(len(modes)), [mode.replace(":", "\n", 1) for mode in modes])
    axes.set_ylabel(f"rate of {largest[0]['bytes']} bytes / rate on an unshared fabric")


def goodput_over_errors(axes: Axes, rows: Sequence[Row]) -> None:
    """Plots goodput beside the closed form of go-back-N; a rate of 0 cannot be shown on the axis."""
    drawn = sorted((row for row in rows if row["bit_error_rate"] > 0), key=lambda row: float(row["bit_error_rate"]))
    rates = [row["bit_error_rate"] for row in drawn]
    axes.plot(rates, [row["goodput"] for row in drawn], "o", markersize=4, label="measured")
    axes.plot(rates, [row["share_expected"] for row in drawn], "--", linewidth=1, label="(1-p)/(1+pa)")
    axes.set_xscale("log")
    axes.set_ylim(0, 1.05)
    axes.set_xlabel("bit error rate")
    axes.set_ylabel("delivered flits / frames that the link can carry")
