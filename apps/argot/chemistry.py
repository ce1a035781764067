# SPDX-License-Identifier: Apache-2.0
"""Isothermal pure hydrogen, photons of 13.6 eV, on-the-spot absorption of recombinations to the ground state (case B).

Values: I. T. Iliev et al., "Cosmological radiative transfer codes comparison project I",
MNRAS 371 (2006), test 1. Its source, in a corner of the box, is here in the middle of eight such boxes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PARSEC = 3.0857e18  # cm
PHOTONS = 5e48  # per second, of all sources
RECOMBINATION = 2.59e-13  # cubic cm per second, at 10^4 K
CROSS_SECTION = (
    6.3e-18  # square cm, at 13.6 eV (D. E. Osterbrock, "Astrophysics of gaseous nebulae", 1989, section 2.1)
)
DENSITY = 1e-3  # of hydrogen, per cubic cm
BOX = 2 * 6.6 / 5.4  # in Stroemgren radii: box of 6.6 kpc, radius of 5.4 kpc


def stroemgren(density: float, photons: float = PHOTONS) -> float:
    """Radius in cm of the sphere in which recombinations balance the source's photons (B. Stroemgren, ApJ 89, 1939)."""
    return float((3 * photons / (4 * np.pi * RECOMBINATION * density**2)) ** (1 / 3))


def neutral(rate: NDArray[np.float64], density: float) -> NDArray[np.float64]:
    """Neutral fraction at which `rate` photo-ionizations per atom and second balance recombinations."""
    # x^2 = g (1 - x), solved for 1 - x without cancellation
    inverse = 1 / np.maximum(rate / (RECOMBINATION * density), 1e-12)
    return np.asarray(4 * inverse / (1 + np.sqrt(1 + 4 * inverse)) ** 2)
