# SPDX-License-Identifier: Apache-2.0
"""Optical depths along rays from a luminous point to cells, and the photons that cells absorb from it.

Short characteristics: a ray's optical depth before a cell is interpolated between the four preceding cells (A. C. Raga
et al., ApJS 120 (1999)); cells absorb according to their own depth, which conserves photons (G. Mellema et al.,
"C2-Ray", New Astronomy 11 (2006)). Lengths are in cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from octree import Group

Mesh = NDArray[np.float64]


@dataclass(frozen=True)
class Rays:
    before: Mesh  #: optical depth from the source to the ray's entry into a cell
    path: Mesh  #: length of the ray in the cell


def rays(opacity: Mesh, source: Sequence[int], reach: int) -> Rays:
    """Rays from the centre of cell `source` to all cells at most `reach` planes away. `opacity` is the optical depth of
    a cell's edge."""
    n = len(opacity)
    before, path, after = (np.zeros_like(opacity) for _ in range(3))
    here = tuple(source)
    path[here] = 0.5
    after[here] = 0.5 * opacity[here]
    for distance in range(1, reach + 1):
        for axis in range(3):
            across = [other for other in range(3) if other != axis]
            # A cell on an edge of the shell is computed for the first of its axes only.
            offsets = [
                np.arange(max(-most, -source[other]), min(most, n - 1 - source[other]) + 1)
                for other in across
                for most in [distance if other > axis else distance - 1]
            ]
            u, v = (offset + source[other] for offset, other in zip(offsets, across, strict=True))
            inner_u, inner_v = u - np.sign(offsets[0]), v - np.sign(offsets[1])
            a, b = np.abs(offsets[0])[:, None] / distance, np.abs(offsets[1])[None, :] / distance
            length = np.sqrt(a * a + b * b + 1)
            for plane, nearer in (
                (source[axis] + distance, source[axis] + distance - 1),
                (source[axis] - distance, source[axis] - distance + 1),
            ):
                if not 0 <= plane < n:
                    continue
                passed = np.moveaxis(after, axis, 0)[nearer]
                depth = (1 - a) * ((1 - b) * passed[np.ix_(u, v)] + b * passed[np.ix_(u, inner_v)]) + a * (
                    (1 - b) * passed[np.ix_(inner_u, v)] + b * passed[np.ix_(inner_u, inner_v)]
                )
                if distance == 1:  # from the source's cell, the ray is straight
                    depth = depth * length
                cells = np.ix_(u, v)
                np.moveaxis(before, axis, 0)[plane][cells] = depth
                np.moveaxis(path, axis, 0)[plane][cells] = length
                np.moveaxis(after, axis, 0)[plane][cells] = depth + length * np.moveaxis(opacity, axis, 0)[plane][cells]
    return Rays(before, path)


@dataclass(frozen=True)
class Light:
    """Photons of a luminous point per cell, in units of luminosity."""

    through: NDArray[np.float64]  #: absorbed photons, divided by the optical depth of the cell's edge
    out: NDArray[np.float64]  #: photons that leave the box from the cell


def light(opacity: Mesh, group: Group, cells: NDArray[np.int32], at: NDArray[np.int64]) -> Light:
    """Light of a group in the cells with numbers `at`; `cells` has all cells' indices, in C order. Rays start at the
    centre of the cell nearest to the group's centre, while brightness is computed from that centre."""
    n = len(opacity)
    source = np.rint(group.at).astype(int)
    mine = cells[at]
    ways = rays(opacity, source.tolist(), int(np.abs(mine - source).max()))
    before, path, edge = (mesh.ravel()[at] for mesh in (ways.before, ways.path, opacity))
    apart = mine - group.at
    squared = (apart**2).sum(axis=1)
    own = squared == 0
    # The cell's part of a shell as thick as the ray's path; the source's own cell receives all.
    bright = group.luminosity * np.exp(-before) / np.where(own, 1, 4 * np.pi * squared)
    bright[own] /= path[own]
    depth = edge * path
    through = bright * -np.expm1(-depth) / depth
    out = np.zeros(len(at))
    for axis in range(3):
        for wall, sign in ((0, -1), (n - 1, 1)):
            there = mine[:, axis] == wall
            to_face = apart[there].astype(float)
            to_face[:, axis] += 0.5 * sign
            length = np.sqrt((to_face**2).sum(axis=1))
            angle = sign * to_face[:, axis] / (4 * np.pi * length**3)
            out[there] += group.luminosity * np.exp(-before[there] - depth[there]) * angle
    return Light(through, out)
