# SPDX-License-Identifier: Apache-2.0
"""Pictures of the bay: water on the mesh, partitions, and a film."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from bay.mesh import LAND, SEA, Mesh, depth
from bay.model import Array
from bay.partition import Cut

SAND, SHORE, DEEP, INK = "#e6d9b8", "#6b5b3e", "#cfe3ee", "#22313f"
WATER = "RdBu_r"
PALETTE = ["#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#76b7b2", "#edc948", "#9c755f", "#ff9da7", "#86bcb6"]
_STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
}


def _corners(mesh: Mesh) -> NDArray[np.float64]:
    return mesh.points[mesh.triangles] / 1e3


def _edges(mesh: Mesh, kind: int) -> NDArray[np.float64]:
    """Edges at land or sea, as lines in km."""
    element, k = np.nonzero(mesh.neighbours == kind)
    ends = np.stack([mesh.triangles[element, k], mesh.triangles[element, (k + 1) % 3]], axis=1)
    return mesh.points[ends] / 1e3


def _map(mesh: Mesh, axes: Axes) -> None:
    """Draws the coast, and the open sea beyond the mesh."""
    low, high = mesh.points.min(axis=0) / 1e3 - 1.5, mesh.points.max(axis=0) / 1e3 + 1.5
    axes.set_facecolor(SAND)
    sea = _edges(mesh, SEA)
    if len(sea):
        line = sea.reshape(-1, 2)
        line = line[np.argsort(line[:, 0])]
        beyond = [(low[0], high[1]), (low[0], line[0, 1]), *line, (high[0], line[-1, 1]), (high[0], high[1])]
        axes.add_collection(PolyCollection([np.array(beyond)], facecolors=DEEP, edgecolors="none", zorder=0))
        axes.add_collection(
            LineCollection(list(sea), colors="#1f5a8a", linewidths=1.4, linestyles=(0, (2, 1.5)), zorder=4)
        )
    axes.add_collection(LineCollection(list(_edges(mesh, LAND)), colors=SHORE, linewidths=1.1, zorder=4))
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    axes.set_aspect("equal")
    axes.set_xlabel("km")
    axes.set_ylabel("km")


class _Water:
    """Draws the water level, and arrows for currents."""

    def __init__(self, mesh: Mesh, limit_m: float, currents_m_s: float, lines: bool = True) -> None:
        with plt.rc_context(_STYLE):
            self.figure, axes = plt.subplots(figsize=(8.6, 6.4), dpi=110, layout="constrained")
            _map(mesh, axes)
            self._mesh, self._axes, self._currents_m_s = mesh, axes, currents_m_s
            lines = lines and len(mesh) < 12_000
            self._faces = PolyCollection(
                list(_corners(mesh)),
                cmap=WATER,
                edgecolors=(0, 0, 0, 0.12) if lines else "face",
                linewidths=0.25,
                zorder=1,
            )
            self._faces.set_clim(-limit_m, limit_m)
            axes.add_collection(self._faces)
            bar = self.figure.colorbar(self._faces, ax=axes, shrink=0.82, pad=0.02)
            bar.set_label("water above the level of rest, m")
            self._at = self._places(mesh)
            x, y = mesh.centres[self._at].T / 1e3
            zeros = np.zeros(len(self._at))
            # An arrow of this current is 2.2 kilometres long.
            self._arrows = axes.quiver(
                x,
                y,
                zeros,
                zeros,
                color=INK,
                alpha=0.75,
                width=0.0018,
                zorder=3,
                units="width",
                scale_units="xy",
                scale=currents_m_s / 2.2,
            )
            key = 10 ** np.floor(np.log10(currents_m_s)) if currents_m_s > 0 else 0.1
            key *= max(k for k in (1, 2, 5) if k * key <= max(currents_m_s, key))
            axes.quiverkey(
                self._arrows,
                0.885,
                0.04,
                key,
                f"{key:g} m/s",
                labelpos="E",
                coordinates="axes",
                fontproperties={"size": 9},
            )

    @staticmethod
    def _places(mesh: Mesh) -> NDArray[np.int64]:
        """Returns an element per square of 2 km."""
        squares = np.floor(mesh.centres / 2000).astype(np.int64)
        _, first = np.unique(squares, axis=0, return_index=True)
        return np.sort(first)

    def show(self, state: Array, title: str) -> None:
        self._faces.set_array(state[:, 0].astype(float))
        at = self._at
        height = state[at, 0] + self._mesh.depths[at]
        x, y = state[at, 1] / height, state[at, 2] / height
        slow = np.hypot(x, y) < 0.02 * self._currents_m_s
        self._arrows.set_UVC(np.ma.array(x, mask=slow), np.ma.array(y, mask=slow))
        with plt.rc_context(_STYLE):
            self._axes.set_title(title)


def limits(mesh: Mesh, states: Sequence[Array]) -> tuple[float, float]:
    """Limits of colours and arrows: the highest level, rounded up to a tenth, and a current that few elements exceed."""
    highest = max(float(np.abs(state[:, 0]).max()) for state in states)
    speeds = [np.hypot(state[:, 1], state[:, 2]) / (state[:, 0] + mesh.depths) for state in states]
    fast = max(float(np.quantile(each, 0.97)) for each in speeds)
    return max(np.ceil(highest * 10) / 10, 0.1), max(fast, 1e-3)


def water(mesh: Mesh, state: Array, title: str, path: Path) -> None:
    made = _Water(mesh, *limits(mesh, [state]))
    made.show(state, title)
    _save(made.figure, path)


def film(mesh: Mesh, states: Sequence[Array], title: Callable[[int], str], path: Path, frame_ms: int = 90) -> None:
    """Writes a GIF of these states; `title` returns the title of a state by its index."""
    made = _Water(mesh, *limits(mesh, states), lines=False)
    frames = []
    for number, state in enumerate(states):
        made.show(state, title(number))
        image = Image.fromarray(_pixels(made.figure))
        frames.append(image.resize((image.width * 2 // 3, image.height * 2 // 3), Image.Resampling.LANCZOS))
    plt.close(made.figure)
    some = frames[:: max(1, len(frames) // 12)]
    together = Image.new("RGB", (frames[0].width, frames[0].height * len(some)))
    for number, each in enumerate(some):
        together.paste(each, (0, number * each.height))
    palette = together.quantize(128, method=Image.Quantize.MEDIANCUT)
    small = [each.quantize(palette=palette, dither=Image.Dither.NONE) for each in frames]
    small[0].save(path, save_all=True, append_images=small[1:], duration=frame_ms, loop=0, optimize=True)


def _colours(cut: Cut) -> list[str]:
    """Returns a colour per partition that differs from its neighbours' colours."""
    chosen: list[int] = []
    for number, part in enumerate(cut.partitions):
        near = {chosen[other] for other in part.neighbours if other < number}
        order = [(number + k) % len(PALETTE) for k in range(len(PALETTE))]
        chosen.append(next((colour for colour in order if colour not in near), order[0]))
    return [PALETTE[colour] for colour in chosen]


def partitions(cut: Cut, path: Path) -> None:
    """Draws each partition in its colour, darker where elements are sent to others."""
    mesh = cut.mesh
    with plt.rc_context(_STYLE):
        figure, axes = plt.subplots(figsize=(8.6, 6.4), dpi=110, layout="constrained")
        _map(mesh, axes)
        colours = np.array([matplotlib.colors.to_rgb(each) for each in _colours(cut)])
        faces = colours[cut.of] * 0.55 + 0.45
        for number, part in enumerate(cut.partitions):
            faces[part.elements[: part.boundary]] = colours[number] * 0.85
        lines = len(mesh) < 12_000
        axes.add_collection(
            PolyCollection(
                list(_corners(mesh)),
                facecolors=faces,
                edgecolors="white" if lines else "face",
                linewidths=0.25,
                zorder=1,
            )
        )
        for number, part in enumerate(cut.partitions):
            middle = mesh.centres[part.elements].mean(axis=0)
            inside = part.elements[np.argmin(((mesh.centres[part.elements] - middle) ** 2).sum(axis=1))]
            x, y = mesh.centres[inside] / 1e3
            axes.text(
                x,
                y,
                str(number),
                ha="center",
                va="center",
                fontsize=9,
                fontweight="bold",
                zorder=5,
                bbox={"boxstyle": "circle,pad=0.25", "fc": "white", "ec": "none", "alpha": 0.85},
            )
        axes.set_title(f"{len(mesh):,} triangles on {len(cut.partitions)} boards; darker: sent to neighbours")
        _save(figure, path)


def floor(mesh: Mesh, path: Path) -> None:
    """Draws the mesh and the depth of the sea."""
    with plt.rc_context(_STYLE):
        figure, axes = plt.subplots(figsize=(8.6, 6.4), dpi=110, layout="constrained")
        _map(mesh, axes)
        faces = PolyCollection(
            list(_corners(mesh)), cmap="YlGnBu", edgecolors=(0.1, 0.2, 0.3, 0.5), linewidths=0.3, zorder=1
        )
        faces.set_array(depth(mesh.centres))
        axes.add_collection(faces)
        figure.colorbar(faces, ax=axes, shrink=0.82, pad=0.02).set_label("depth at rest, m")
        axes.plot([], [], color=SHORE, label="land")
        axes.plot([], [], color="#1f5a8a", linestyle=(0, (2, 1.5)), label="open sea, with the tide")
        axes.legend(loc="lower left", frameon=True, fontsize=9)
        axes.set_title(f"The bay: {len(mesh):,} triangles")
        _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    """Saves a PNG of 256 colours, a third as large."""
    Image.fromarray(_pixels(figure)).quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    plt.close(figure)


def _pixels(figure: Figure) -> NDArray[np.uint8]:
    figure.canvas.draw()
    pixels: NDArray[np.uint8] = np.asarray(figure.canvas.buffer_rgba())[..., :3]  # type: ignore[attr-defined]
    return np.ascontiguousarray(pixels)
