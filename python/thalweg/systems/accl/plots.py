# SPDX-License-Identifier: Apache-2.0
"""Plots of figures of the paper on ACCL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from thalweg.bench.plot import lines_over_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def latency_over_size(axes: Axes, series: Sequence[tuple[Sequence[dict[str, Any]], str]]) -> None:
    """Figure 4: latency over message size, with the model (Equation 1) as dashed lines. A series has rows and a label."""
    lines_over_size(axes, [(rows, "time_us", "", label) for rows, label in series])
    label = "model"
    for (rows, _), line in zip(series, axes.get_lines(), strict=True):
        line.set_linestyle("none")
        if rows[0]["model_us"] is None:
            continue
        style = "--" if len(rows) > 1 else "_"  # a line needs two sizes
        axes.plot(
            [row["bytes"] for row in rows],
            [row["model_us"] for row in rows],
            style,
            linewidth=1,
            color=line.get_color(),
            label=label,
        )
        label = "_"  # one legend entry for all
