# SPDX-License-Identifier: Apache-2.0
"""A lattice-Boltzmann method in two dimensions with nine velocities (D2Q9) and a single relaxation time (Y. H. Qian, D. d'Humieres, P. Lallemand,
Europhysics Letters 17, 1992), in single precision.

A lattice is an array of columns x rows of cells; fluid enters at column 0 and leaves at the last one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Populations = NDArray[np.float32]
"""Nine populations per cell, along the first axis."""
Kinds = NDArray[np.uint32]

FLUID, SOLID, DRIVEN, OUTLET = range(4)
"""Kinds of cells. Solid cells reflect, driven cells are at equilibrium at the flow's velocity, and outlet cells copy
their neighbour's populations."""

X = (0, 1, 0, -1, 0, 1, -1, -1, 1)
Y = (0, 0, 1, 0, -1, 1, 1, -1, -1)
OPPOSITE = [0, 3, 4, 1, 2, 7, 8, 5, 6]
EAST, NORTH = np.array(X, np.float32), np.array(Y, np.float32)
WEIGHTS = np.array([4 / 9, *[1 / 9] * 4, *[1 / 36] * 4], np.float32)

ONE, THREE, HALF, NINE_HALVES = (np.float32(value) for value in (1, 3, 1.5, 4.5))


@dataclass(frozen=True)
class Flow:
    """`speed`: of driven cells in x, in cells per step. `omega`: inverse relaxation time; the viscosity is (1/omega -
    1/2)/3 cells squared per step."""

    kinds: Kinds
    speed: float
    omega: float

    @property
    def cells(self) -> int:
        return self.kinds.size

    @cached_property
    def driven(self) -> Populations:
        return equilibrium(*np.array([[1], [self.speed], [0]], np.float32))

    def start(self) -> Populations:
        """Initial state: fluid at the flow's velocity, solids at rest."""
        ux = np.where(self.kinds == SOLID, np.float32(0), np.float32(self.speed))
        return equilibrium(np.ones_like(ux), ux, np.zeros_like(ux))


def cylinder(columns: int, rows: int, reynolds: float = 100, speed: float = 0.1) -> Flow:
    """Flow around a cylinder of a ninth of the height, slightly off the middle to trigger vortex shedding. Top and
    bottom move with the flow."""
    diameter = rows / 9
    x, y = np.indices((columns, rows))
    kinds = np.full((columns, rows), FLUID, np.uint32)
    kinds[-1] = OUTLET
    kinds[0] = kinds[:, 0] = kinds[:, -1] = DRIVEN
    kinds[(x - columns / 5) ** 2 + (y - rows / 2 - 0.3) ** 2 < diameter**2 / 4] = SOLID
    return Flow(kinds, speed, 1 / (0.5 + 3 * speed * diameter / reynolds))


def equilibrium(density: Populations, ux: Populations, uy: Populations) -> Populations:
    shape = (9, *[1] * density.ndim)
    still = ONE - HALF * (ux * ux + uy * uy)
    along = EAST.reshape(shape) * ux + NORTH.reshape(shape) * uy
    return WEIGHTS.reshape(shape) * density * (still + along * (THREE + NINE_HALVES * along))


def moments(f: Populations) -> tuple[Populations, Populations, Populations]:
    """Density, and velocity in x and y in cells per step."""
    density = ((f[0] + f[1]) + (f[2] + f[3])) + ((f[4] + f[5]) + (f[6] + f[7])) + f[8]
    ux = ((f[1] - f[3]) + (f[5] - f[6]) + (f[8] - f[7])) / density
    uy = ((f[2] - f[4]) + (f[5] - f[7]) + (f[6] - f[8])) / density
    return density, ux, uy


def collide(flow: Flow, f: Populations, kinds: Kinds) -> Populations:
    """Collides each cell by itself."""
    relaxed = f + np.float32(flow.omega) * (equilibrium(*moments(f)) - f)
    driven = flow.driven.reshape(9, *[1] * kinds.ndim)
    return np.where(kinds == SOLID, f[OPPOSITE], np.where(kinds == DRIVEN, driven, relaxed))


def plain(flow: Flow, f: Populations, steps: int) -> Populations:
    """Computes the whole lattice with numpy. Nothing enters beyond the first and last column; rows are cyclic."""
    for _ in range(steps):
        beyond = np.pad(collide(flow, f, flow.kinds), ((0, 0), (1, 1), (0, 0)))
        f = np.stack([np.roll(beyond[i], (X[i], Y[i]), (0, 1))[1:-1] for i in range(9)])
        f = np.where(flow.kinds == OUTLET, np.roll(f, 1, axis=1), f)
    return f
