# SPDX-License-Identifier: Apache-2.0
"""Triangles of the bay: their neighbours, and the geometry of their edges."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LAND, SEA = -1, -2  #: in place of a neighbour at the boundary
_FOLDER = Path(__file__).parent / "meshes"
BASES = 1690, 3121  #: triangles of the base meshes


def depth(points: Floats) -> Floats:
    """Depth of the sea floor below the rest level in m: some metres in the bay, and a slope to the open sea in the north."""
    x, y = points[..., 0] / 1e3, points[..., 1] / 1e3
    shoals = 0.9 * np.sin(x / 3.7 + 1) * np.cos(y / 4.3) + 0.5 * np.sin(x / 1.9 - y / 2.6)
    channel = 3.5 * np.exp(-(((x - 27) / 3.5) ** 2)) / (1 + np.exp((10 - y) / 3))
    found: Floats = 4.0 + shoals + channel + 14 / (1 + np.exp((35 - y) / 2.2))
    return found


@dataclass(frozen=True)
class Mesh:
    """A mesh: `points` in m, counterclockwise `triangles`, and pairs of points that are edges at the open sea.

    Edge k of a triangle is from its corner k to the next. Other edges with only one triangle are at land.
    """

    points: Floats
    triangles: Integers
    sea: Integers
    name: str = ""
    _edge_of: Integers = field(init=False, repr=False)  #: edge numbers of each triangle
    _ends: Integers = field(init=False, repr=False)  #: points of each edge, smaller number first

    def __post_init__(self) -> None:
        sides = np.stack([self.triangles, np.roll(self.triangles, -1, axis=1)], axis=2)
        ends, number = np.unique(np.sort(sides.reshape(-1, 2), axis=1), axis=0, return_inverse=True)
        object.__setattr__(self, "_edge_of", number.reshape(-1, 3))
        object.__setattr__(self, "_ends", ends)

    def __len__(self) -> int:
        return len(self.triangles)

    @cached_property
    def neighbours(self) -> Integers:
        """For each edge of each triangle, the triangle on the other side, LAND or SEA."""
        flat = self._edge_of.ravel()
        order = np.argsort(flat, kind="stable")
        found = np.full(len(flat), LAND)
        twice = flat[order][1:] == flat[order][:-1]
        first, second = order[:-1][twice], order[1:][twice]
        found[first], found[second] = second // 3, first // 3
        open_sea = np.zeros(len(self._ends), bool)
        open_sea[self._numbers(np.sort(self.sea, axis=1))] = True
        found[(found == LAND) & open_sea[flat]] = SEA
        return found.reshape(-1, 3)

    def _numbers(self, pairs: Integers) -> Integers:
        """Returns the numbers of edges with these ends."""
        count = len(self.points)
        keys = self._ends[:, 0] * count + self._ends[:, 1]
        return np.searchsorted(keys, pairs[:, 0] * count + pairs[:, 1])

    @cached_property
    def areas(self) -> Floats:
        a, b, c = (self.points[self.triangles[:, k]] for k in range(3))
        found: Floats = 0.5 * ((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0])
        return found

    @cached_property
    def centres(self) -> Floats:
        found: Floats = self.points[self.triangles].mean(axis=1)
        return found

    @cached_property
    def is_left(self) -> NDArray[np.bool_]:
        """For each edge of each triangle, whether the flow is computed from this triangle, which has the smaller number,
        to the other. So both sides compute the same."""
        others = self.neighbours
        return (others < 0) | (np.arange(len(self))[:, None] < others)

    @cached_property
    def edges(self) -> NDArray[np.float32]:
        """For each edge of each triangle: normal from the left to the right triangle (x, y), length and depth in m; the
        same bits on both sides."""
        lower, upper = self.points[self._ends[:, 0]], self.points[self._ends[:, 1]]
        along, length = upper - lower, np.linalg.norm(upper - lower, axis=1)
        of_edge = np.stack([along[:, 1] / length, -along[:, 0] / length, length, depth((lower + upper) / 2)], axis=1)
        forward = self.triangles < np.roll(
            self.triangles, -1, axis=1
        )  # a triangle's interior is to the left of its edges
        values = of_edge[self._edge_of]
        values[..., :2] *= np.where(forward == self.is_left, 1, -1)[..., None]
        return values.astype(np.float32)

    @cached_property
    def depths(self) -> NDArray[np.float32]:
        """Depth in the middle of each triangle."""
        return depth(self.centres).astype(np.float32)

    def refined(self, parts: int) -> Mesh:
        """Divides each triangle into `parts` x `parts` similar ones; the boundary is unchanged."""
        if parts == 1:
            return self
        count, edges, inner = len(self.points), len(self._ends), (parts - 1) * (parts - 2) // 2
        rows = [
            (i, j) for i in range(parts + 1) for j in range(parts + 1 - i)
        ]  # i: towards corner 1, j: towards corner 2
        number = np.empty((parts + 1, parts + 1, len(self)), np.int64)
        places = np.empty((count + edges * (parts - 1) + len(self) * inner, 2))
        a, b, c = (self.points[self.triangles[:, k]] for k in range(3))
        found = 0
        for i, j in rows:
            k = parts - i - j
            if 0 in (i, j, k):
                number[i, j] = self._on_edge((k, i, j), parts)
            else:
                number[i, j] = count + edges * (parts - 1) + np.arange(len(self)) * inner + found
                found += 1
                places[number[i, j]] = (k * a + i * b + j * c) / parts
        at = np.arange(1, parts)[None, :, None] / parts
        places[:count] = self.points
        lower, upper = self.points[self._ends[:, :1]], self.points[self._ends[:, 1:]]
        places[count : count + edges * (parts - 1)] = ((1 - at) * lower + at * upper).reshape(-1, 2)
        triangles = []
        for i, j in rows:
            if i + j < parts:
                triangles.append(np.stack([number[i, j], number[i + 1, j], number[i, j + 1]], axis=1))
            if i + j < parts - 1:
                triangles.append(np.stack([number[i + 1, j], number[i + 1, j + 1], number[i, j + 1]], axis=1))
        ends = np.sort(self.sea, axis=1)
        inside = count + self._numbers(ends)[:, None] * (parts - 1) + np.arange(parts - 1)
        chain = np.concatenate([ends[:, :1], inside, ends[:, 1:]], axis=1)
        sea = np.stack([chain[:, :-1], chain[:, 1:]], axis=2).reshape(-1, 2)
        return Mesh(places, np.stack(triangles, axis=1).reshape(-1, 3), sea, self.name)

    def _on_edge(self, at: tuple[int, int, int], parts: int) -> Integers:
        """Returns points with these barycentric coordinates, one of which is 0, in all triangles."""
        corners = [k for k in range(3) if at[k]]
        if len(corners) == 1:
            return self.triangles[:, corners[0]]
        first, second = corners
        edge = self._edge_of[:, first if second == first + 1 else second]
        from_first = at[second]
        steps = np.where(self.triangles[:, first] < self.triangles[:, second], from_first, parts - from_first)
        return len(self.points) + edge * (parts - 1) + steps - 1


def base(triangles: int = BASES[0]) -> Mesh:
    """Loads a mesh of the bay that gmsh has made (make_meshes.py)."""
    with np.load(_FOLDER / f"bay-{triangles}.npz") as file:
        arrays: dict[str, Any] = {name: file[name] for name in file.files}
    return Mesh(
        arrays["points"], arrays["triangles"].astype(np.int64), arrays["sea"].astype(np.int64), f"bay-{triangles}"
    )


def sizes() -> dict[int, tuple[int, int]]:
    """Available numbers of triangles, up to half a million, with the base mesh and refinement of each."""
    return {count * k * k: (count, k) for count in BASES for k in range(1, 32) if count * k * k <= 500_000}


def bay(triangles: int) -> Mesh:
    """Returns the mesh with the closest number of triangles."""
    count = min(sizes(), key=lambda each: abs(each - triangles))
    of, parts = sizes()[count]
    return base(of).refined(parts)


def basin(columns: int, rows: int, size: float = 500.0) -> Mesh:
    """Returns a closed rectangle of 2 x columns x rows triangles."""
    x, y = np.meshgrid(np.arange(columns + 1.0), np.arange(rows + 1.0))
    at = np.arange((columns + 1) * (rows + 1)).reshape(rows + 1, columns + 1)
    a, b, c, d = at[:-1, :-1].ravel(), at[:-1, 1:].ravel(), at[1:, 1:].ravel(), at[1:, :-1].ravel()
    triangles = np.stack([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)], axis=1).reshape(-1, 3)
    return Mesh(np.stack([x.ravel(), y.ravel()], axis=1) * size, triangles, np.empty((0, 2), np.int64), "basin")
