# SPDX-License-Identifier: Apache-2.0
"""Rounds of radiation, sums over the mesh and chemistry, until ionization is in equilibrium."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import chemistry
import numpy as np
from numpy.typing import NDArray
from octree import seen, tree
from radiation import light
from thalweg.errors import CheckFailed

TOLERANCE = 1e-4
MOST_ROUNDS = 200
START = 1e-6  # initial neutral fraction: nearly all is ionized, and ionized regions only shrink

Sum = Callable[[NDArray[np.float32]], NDArray[np.floating]]


class Budget(NamedTuple):
    """Sums over the mesh: the eight fields of a record. Photons and recombinations are relative to the photons of all
    sources."""

    near: float  #: photons absorbed from single sources
    far: float  #: photons absorbed from groups
    escaped: float  #: photons that leave the box
    recombined: float
    ionized: float  #: cells
    gained: float  #: increase of `ionized` in the previous round
    lost: float
    edge: float  #: cells, sum of 4 x (1 - x)

    @property
    def right(self) -> float:
        """Factor of rates, such that absorbed and escaped photons equal the sources' photons."""
        return 1 / (self.near + self.far + self.escaped)

    @property
    def steady(self) -> bool:
        unused = 1 - self.right * self.escaped - self.recombined
        return self.gained + self.lost < TOLERANCE * self.ionized and abs(unused) < 10 * TOLERANCE


@dataclass(frozen=True)
class Problem:
    cells: int  #: cells along an edge
    places: NDArray[np.int64]  #: the sources' cells
    luminosities: NDArray[np.float64]  #: relative; the sum is 1
    opening: float = 0.7  #: radian
    density: float = 1.0  #: per cubic cm

    @property
    def edge(self) -> float:
        """Edge of a cell, in cm."""
        return chemistry.BOX * chemistry.stroemgren(self.density) / self.cells


@dataclass(frozen=True)
class State:
    neutral: NDArray[np.float64]
    budgets: list[Budget]
    rays: int  #: number of rays of a round


def eighths(cells: int) -> NDArray[np.int64]:
    """Cell numbers (C order) of each eighth of the mesh: eighths x cells."""
    half = cells // 2
    parts = np.arange(cells**3).reshape(2, half, 2, half, 2, half)
    return parts.transpose(0, 2, 4, 1, 3, 5).reshape(8, -1)


def solve(problem: Problem, total: Sum) -> State:
    """Raises CheckFailed if there is no equilibrium after MOST_ROUNDS rounds."""
    n, edge, density = problem.cells, problem.edge, problem.density
    cells = np.indices((n, n, n), np.int32).reshape(3, -1).T
    groups = list(seen(tree(problem.places, problem.luminosities, n), cells, problem.opening))
    order = eighths(n)
    depth = chemistry.CROSS_SECTION * density * edge
    recombining = chemistry.RECOMBINATION * density**2 * edge**3 / chemistry.PHOTONS
    neutral, change = np.full(n**3, START), np.zeros(n**3)
    budgets: list[Budget] = []
    while len(budgets) < MOST_ROUNDS:
        opacity = depth * neutral
        near, far, out = np.zeros((3, n**3))
        for group, at in groups:
            of_group = light(opacity.reshape(n, n, n), group, cells, at)
            (far if group.parts else near)[at] += of_group.through
            out[at] += of_group.out
        ionized = 1 - neutral
        fields = [
            near * opacity,
            far * opacity,
            out,
            recombining * ionized**2,
            ionized,
            np.maximum(change, 0),
            np.maximum(-change, 0),
            4 * ionized * neutral,
        ]
        records = np.stack(fields, axis=-1).astype(np.float32)
        budget = Budget(*total(records[order]).tolist())
        budgets.append(budget)
        if len(budgets) > 1 and budget.steady:
            return State(neutral.reshape(n, n, n), budgets, sum(len(at) for _, at in groups))
        rate = budget.right * (near + far) * chemistry.PHOTONS * chemistry.CROSS_SECTION / edge**2
        after = chemistry.neutral(rate, density)
        change, neutral = neutral - after, after
    raise CheckFailed(f"no equilibrium after {MOST_ROUNDS} rounds")
