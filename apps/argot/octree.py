# SPDX-License-Identifier: Apache-2.0
"""Sources in an oct-tree: from far away, a group is treated as one luminous point.

T. Okamoto, K. Yoshikawa and M. Umemura, "ARGOT: accelerated radiative transfer on grids using oct-tree", MNRAS 419 (2012).
Lengths are in cells; a cell's centre is at its index.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Group:
    at: NDArray[np.float64]  #: centre of luminosity
    luminosity: float
    size: float  #: edge of its cube
    parts: tuple[Group, ...] = ()  #: at most eight; empty: all its sources are in one cell

    def walk(self) -> Iterator[Group]:
        """Yields the group, then its parts and theirs."""
        yield self
        for part in self.parts:
            yield from part.walk()


def tree(places: NDArray[np.int64], luminosities: NDArray[np.float64], edge: int) -> Group:
    """Tree of sources at `places` (sources x 3, in cells); the root's cube has its lower corner at cell 0."""
    return _group(places, luminosities, np.zeros(3, np.int64), 1 << (edge - 1).bit_length())


def _group(places: NDArray[np.int64], luminosities: NDArray[np.float64], low: NDArray[np.int64], edge: int) -> Group:
    total = float(luminosities.sum())
    at = luminosities @ places / total
    if (places == places[0]).all():
        return Group(places[0].astype(float), total, edge)
    half = edge // 2
    eighth = ((places - low) >= half) @ np.array([4, 2, 1])
    parts = []
    for which in range(8):
        if (mine := eighth == which).any():
            corner = low + half * np.array([which >> 2 & 1, which >> 1 & 1, which & 1])
            parts.append(_group(places[mine], luminosities[mine], corner, half))
    return Group(at, total, edge, tuple(parts))


def seen(
    group: Group, cells: NDArray[np.int32], opening: float, at: NDArray[np.int64] | None = None
) -> Iterator[tuple[Group, NDArray[np.int64]]]:
    """Yields groups with the numbers of the cells that treat each as one point, since its cube appears smaller than
    `opening` (radian)."""
    at = np.arange(len(cells)) if at is None else at
    if not group.parts:
        yield group, at
        return
    far = group.size < opening * np.linalg.norm(cells[at] - group.at, axis=1)
    if far.any():
        yield group, at[far]
    if not far.all():
        for part in group.parts:
            yield from seen(part, cells, opening, at[~far])
