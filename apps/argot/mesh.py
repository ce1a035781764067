# SPDX-License-Identifier: Apache-2.0
"""Division of the mesh into boxes of equal size, one for each GPU.

T. Okamoto et al., MNRAS 419 (2012), divide the volume evenly along the axes. Here each bit of a box's number, from the
lowest, halves an axis, so the boxes of 2R GPUs consist of whole boxes of 4R.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

AXES = (0, 1, 2, 0, 1)
"""Axis that each bit of a box's number halves."""
MAX_BOXES = 1 << len(AXES)

Corner = tuple[int, int, int]


class Box(NamedTuple):
    low: Corner
    size: Corner

    @property
    def cells(self) -> NDArray[np.int32]:
        """Indices in the mesh of all its cells, in C order."""
        return np.indices(self.size, np.int32).reshape(3, -1).T + np.array(self.low, np.int32)

    @property
    def slices(self) -> tuple[slice, ...]:
        return tuple(slice(low, low + size) for low, size in zip(self.low, self.size, strict=True))

    def within(self, other: Box) -> tuple[slice, ...]:
        """Its slices of a box that contains it."""
        return Box(tuple(np.subtract(self.low, other.low)), self.size).slices


def box(number: int, boxes: int, edge: int) -> Box:
    """Box `number` of `boxes`, a power of two, in a mesh of `edge` cubed cells."""
    low, size = [0] * 3, [edge] * 3
    for bit in range(boxes.bit_length() - 1):
        axis = AXES[bit]
        size[axis] //= 2
        low[axis] += size[axis] * (number >> bit & 1)
    return Box((low[0], low[1], low[2]), (size[0], size[1], size[2]))


@dataclass(frozen=True)
class Division:
    """The boxes of all GPUs."""

    edge: int
    boxes: tuple[Box, ...]

    @staticmethod
    def of(edge: int, count: int) -> Division:
        return Division(edge, tuple(box(number, count, edge) for number in range(count)))

    def place(self, number: int) -> NDArray[np.int64]:
        """Position of a box in the grid of boxes."""
        return np.array(self.boxes[number].low) // self.boxes[number].size

    def towards(self, number: int, cell: NDArray[np.int64]) -> dict[int, int]:
        """For each axis along which `cell` is outside the box: the neighbouring box on that side."""
        way = np.sign(cell // self.boxes[number].size - self.place(number))
        return {
            axis: self._at(self.place(number) + way[axis] * np.eye(3, dtype=int)[axis]) for axis in way.nonzero()[0]
        }

    def distance(self, number: int, cell: NDArray[np.int64]) -> int:
        """Boxes to be crossed from the cell's box to this one, through their faces."""
        return int(np.abs(cell // self.boxes[number].size - self.place(number)).sum())

    def _at(self, place: NDArray[np.int64]) -> int:
        low = tuple(int(each) for each in place * self.boxes[0].size)
        return next(number for number, box in enumerate(self.boxes) if box.low == low)
