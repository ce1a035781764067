# SPDX-License-Identifier: Apache-2.0
"""Optical depths along rays from a luminous point to the cells of a box, and the photons that cells absorb from it.

Short characteristics: a ray's optical depth before a cell is interpolated between the four preceding cells (A. C. Raga
et al., ApJS 120 (1999)); cells absorb according to their own depth, which conserves photons (G. Mellema et al.,
"C2-Ray", New Astronomy 11 (2006)). Lengths are in cells. A box's depths have a border of one cell, whose values come
from the boxes nearer to the source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from mesh import Box
from numpy.typing import NDArray
from octree import Group

Mesh = NDArray[np.float64]
Depths = NDArray[np.float32]
"""Optical depths from the source to the far ends of cells, as GPUs store and exchange them: a box with its border."""


@dataclass(frozen=True)
class Rays:
    before: Mesh  #: optical depth from the source to the ray's entry into a cell
    path: Mesh  #: length of the ray in the cell
    after: Depths


def source_of(group: Group) -> NDArray[np.int64]:
    """The cell at whose centre the group's rays start: the one nearest to the group's centre."""
    return np.rint(group.at).astype(np.int64)


def shells(box: Box, source: NDArray[np.int64]) -> range:
    """Distances of a box's cells from the source, in cells of the farthest axis. Each shell needs the preceding one."""
    low, high = np.array(box.low), np.array(box.low) + box.size - 1
    nearest = np.maximum(np.maximum(low - source, source - high), 0).max()
    farthest = np.maximum(np.abs(low - source), np.abs(high - source)).max()
    return range(int(nearest), int(farthest) + 1)


def face(depths: Depths, axis: int, upper: bool) -> Depths:
    """A box's outermost layer of cells, with its border across the layer."""
    return depths.take(-2 if upper else 1, axis)


def rays(opacity: Mesh, box: Box, source: NDArray[np.int64], faces: Mapping[int, Depths]) -> Rays:
    """Rays from the centre of cell `source` to all cells of a box.

    `opacity` is the optical depth of a cell's edge, `faces` has the layer of the neighbour nearer to the source for
    each axis along which the source is outside the box.
    """
    offset = box.cells - source
    apart = np.abs(offset)
    axis, distance = apart.argmax(axis=1), apart.max(axis=1)
    each = np.arange(len(offset))
    one, other = (axis == 0).astype(int), 2 - (axis == 2)  # the axes across
    a, b = (apart[each, across] / np.maximum(distance, 1) for across in (one, other))
    path = np.sqrt(a * a + b * b + 1)
    path[distance == 0] = 0.5

    after = np.zeros([size + 2 for size in box.size], np.float32)
    for along, layer in faces.items():
        after[(slice(None),) * along + (0 if source[along] < box.low[along] else -1,)] = layer
    strides = np.array(after.strides) // after.itemsize
    own = (box.cells - box.low + 1) @ strides
    back = np.sign(offset) * strides  # difference of cell numbers, towards the source
    straight = own - back[each, axis]
    preceding = [straight, straight - back[each, other], straight - back[each, one]]
    preceding.append(preceding[2] - back[each, other])
    weights = [(1 - a) * (1 - b), (1 - a) * b, a * (1 - b), a * b]

    before, edge, depths = np.zeros(len(offset)), opacity.ravel(), after.ravel()
    order = distance.argsort(kind="stable")
    for shell in np.split(order, np.flatnonzero(np.diff(distance[order])) + 1):
        if distance[shell[0]] > 0:
            for weight, at in zip(weights, preceding, strict=True):
                before[shell] += weight[shell] * depths[at[shell]]
        if distance[shell[0]] == 1:  # from the source's cell, the ray is straight
            before[shell] *= path[shell]
        depths[own[shell]] = before[shell] + path[shell] * edge[shell]
    return Rays(before, path, after)


@dataclass(frozen=True)
class Light:
    """Photons of a luminous point per cell, in units of luminosity."""

    through: Mesh  #: absorbed photons, divided by the optical depth of the cell's edge
    out: Mesh  #: photons that leave the mesh from the cell


def light(group: Group, ways: Rays, opacity: Mesh, box: Box, at: NDArray[np.int64], edge: int) -> Light:
    """Light of a group in the cells with numbers `at` of a box, in a mesh of `edge` cubed cells. Rays start at the
    centre of a cell, while brightness is computed from the group's centre."""
    mine = box.cells[at]
    before, path, depth = ways.before[at], ways.path[at], opacity.ravel()[at] * ways.path[at]
    apart = mine - group.at
    squared = (apart**2).sum(axis=1)
    own = squared == 0
    # The cell's part of a shell as thick as the ray's path; the source's own cell receives all.
    bright = group.luminosity * np.exp(-before) / np.where(own, 1, 4 * np.pi * squared)
    bright[own] /= path[own]
    through = bright * -np.expm1(-depth) / depth
    out = np.zeros(len(at))
    for axis in range(3):
        for wall, sign in ((0, -1), (edge - 1, 1)):
            there = mine[:, axis] == wall
            to_face = apart[there].astype(float)
            to_face[:, axis] += 0.5 * sign
            length = np.sqrt((to_face**2).sum(axis=1))
            angle = sign * to_face[:, axis] / (4 * np.pi * length**3)
            out[there] += group.luminosity * np.exp(-before[there] - depth[there]) * angle
    return Light(through, out)
