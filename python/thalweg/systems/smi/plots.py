# SPDX-License-Identifier: Apache-2.0
"""Plots of SMI's operations other than times over sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from thalweg.bench.operation import Row
from thalweg.bench.plot import lines_over_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def trees(axes: Axes, rows: Sequence[Row]) -> None:
    """Plots each collective over a tree and in the linear scheme."""
    lines = []
    for collective in dict.fromkeys(row["collective"] for row in rows):
        of = [row for row in rows if row["collective"] == collective]
        lines += [(of, "time_us", "", f"{collective}, tree"), (of, "time_linear_us", "", f"{collective}, linear")]
    lines_over_size(axes, lines)


def cycles_over_reads(axes: Axes, rows: Sequence[Row]) -> None:
    for key, style, label in (
        ("cycles", "o-", "measured"),
        ("polling_cycles", "--", "by polling"),
        ("link_cycles", ":", "bound by the link rate"),
    ):
        axes.plot([row["reads"] for row in rows], [row[key] for row in rows], style, markersize=3.5, label=label)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("consecutive reads of one input")
    axes.set_ylabel("cycles a message")
