# SPDX-License-Identifier: Apache-2.0
"""The ionization front around a single source: where it is in each direction, and where it should be.

In equilibrium the front of a point source in a uniform gas is a sphere, whose profile follows from the balance of photons
and recombinations along one radius (D. E. Osterbrock, "Astrophysics of gaseous nebulae", 1989, section 2.3). It is sharp,
and its radius is Stroemgren's, if the free path of photons is short; with the density of Iliev et al. it is not.
"""

from __future__ import annotations

from typing import NamedTuple

import chemistry
import numpy as np
from numpy.typing import NDArray

DIRECTIONS = 200
STEP = 0.05  # cells
SHELLS = 20_000


class Radii(NamedTuple):
    """In Stroemgren radii."""

    half: float  #: half of the hydrogen is ionized
    volume: float  #: of a sphere with as much ionized hydrogen


def analytic(density: float) -> Radii:
    """The front in equilibrium: depth by depth outwards, each shell ionized to the balance of photons and recombinations."""
    sphere = chemistry.stroemgren(density)
    edges, step = np.linspace(0, 1.5, SHELLS, endpoint=False, retstep=True)
    depth, volume, half = 0.0, 0.0, 0.0
    for radius in (edges + step / 2).tolist():
        flux = chemistry.PHOTONS * np.exp(-depth) / (4 * np.pi * (radius * sphere) ** 2)
        neutral = float(chemistry.neutral(flux * chemistry.CROSS_SECTION, density))
        depth += chemistry.CROSS_SECTION * density * sphere * step * neutral
        volume += 3 * radius**2 * step * (1 - neutral)
        if neutral < 0.5:
            half = radius + step / 2
    return Radii(half, volume ** (1 / 3))


def directions() -> NDArray[np.float64]:
    """Unit vectors evenly over the sphere (on a Fibonacci spiral)."""
    number = np.arange(DIRECTIONS) + 0.5
    z, turn = 1 - 2 * number / DIRECTIONS, np.pi * (1 + 5**0.5) * number
    across = np.sqrt(1 - z * z)
    return np.stack([across * np.cos(turn), across * np.sin(turn), z], axis=1)


def radii(neutral: NDArray[np.float64], source: NDArray[np.int64]) -> NDArray[np.float64]:
    """Distance in cells, for each direction, at which half of the hydrogen is ionized; if that is outside of the mesh, the
    distance of the mesh's edge."""
    reach = min(*source, *(np.array(neutral.shape) - 1 - source))
    steps = np.arange(0, reach, STEP)
    along = interpolated(neutral, source + directions()[:, None] * steps[:, None])
    outside = along > 0.5
    return np.where(outside.any(axis=1), steps[outside.argmax(axis=1)], reach)


def interpolated(values: NDArray[np.float64], places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values at places between the centres of cells, linear along each axis."""
    low = np.minimum(places.astype(np.int64), np.array(values.shape) - 2)
    part = places - low
    found = np.zeros(places.shape[:-1])
    for corner in np.ndindex(2, 2, 2):
        weight = np.where(corner, part, 1 - part).prod(axis=-1)
        found += weight * values[tuple(np.moveaxis(low + corner, -1, 0))]
    return found
