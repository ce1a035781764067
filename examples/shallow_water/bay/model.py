# SPDX-License-Identifier: Apache-2.0
"""The shallow-water equations on triangles with constant values per triangle, in float32. This NumPy solver is the
kernels' reference.

A triangle has the water level above rest (m) and momentum per area in x and y (m2/s). The flow through an edge is
Rusanov's flux, which both sides compute from the left triangle to the right one, so they get the same bits. A triangle
uses only the difference of the pressure to its own, so water at rest stays at rest on any floor. The sum of the three
edges has a fixed order. So results do not depend on the partitioning.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bay.mesh import LAND, SEA, Mesh

Array = NDArray[np.float32]
ONE, HALF = np.float32(1), np.float32(0.5)

GRAVITY = 9.81  #: m/s2
CORIOLIS = 2 * 7.2921e-5 * math.sin(math.radians(26.5))  #: 1/s, at the latitude of Abaco
FRICTION = 0.009  #: friction of the floor, quadratic in the speed
TIDE_M, TIDE_S = 0.5, 12.42 * 3600  #: amplitude and period of the lunar tide
COURANT = 0.45
MAX_RATIO = 2  #: maximum time step in nominal steps


@dataclass(frozen=True)
class Parameters:
    """Parameters of a run; `step_s` is a nominal time step in s."""

    step_s: float
    gravity: float = GRAVITY
    coriolis: float = CORIOLIS
    friction: float = FRICTION
    tide_m: float = TIDE_M

    @classmethod
    def of(cls, mesh: Mesh, **others: float) -> Parameters:
        """Returns parameters with a time step that is stable in water that moves at 1 m/s."""
        waves = 1 + np.sqrt(GRAVITY * (mesh.edges[..., 3].astype(float) + TIDE_M))
        return cls(COURANT * float((2 * mesh.areas / (mesh.edges[..., 2] * waves).sum(axis=1)).min()), **others)

    def tide(self, first: int, steps: int) -> Array:
        """Level of the open sea at nominal steps from `first` on; it starts to rise from rest."""
        times = self.step_s * np.arange(first, first + steps)
        return np.asarray(self.tide_m * np.sin(2 * math.pi * times / TIDE_S), np.float32)

    @property
    def constants(self) -> tuple[np.float32, np.float32, np.float32]:
        """Gravity, and Coriolis and friction per step, as used in the pipeline."""
        return (
            np.float32(self.gravity),
            np.float32(self.step_s * self.coriolis),
            np.float32(self.step_s * self.friction),
        )


def scales(mesh: Mesh, parameters: Parameters) -> Array:
    """Time step over area of each triangle."""
    return (parameters.step_s / mesh.areas).astype(np.float32)


def at_rest(mesh: Mesh) -> Array:
    return np.zeros((len(mesh), 3), np.float32)


def hill(mesh: Mesh, height: float = 0.3) -> Array:
    """Initial state with a hill of water in the middle."""
    state = at_rest(mesh)
    middle = mesh.points.mean(axis=0)
    radius = 0.1 * np.ptp(mesh.points, axis=0).max()
    state[:, 0] = height * np.exp(-(((mesh.centres - middle) / radius) ** 2).sum(axis=1))
    return state


class Reference:
    """The mesh's state, step by step. If `adaptive`, each time step is the maximum that the last state allows; otherwise
    steps are nominal."""

    def __init__(self, mesh: Mesh, parameters: Parameters, state: Array, adaptive: bool = False) -> None:
        self.state = state.copy()
        self.time, self.ratio = np.float32(0), ONE  #: time and next time step, in nominal steps
        self._adaptive = adaptive
        self._parameters = parameters
        self._mesh, self._scales = mesh, scales(mesh, parameters)
        self._land, self._sea = mesh.neighbours == LAND, mesh.neighbours == SEA
        self._others = np.where(mesh.neighbours < 0, np.arange(len(mesh))[:, None], mesh.neighbours)
        self.inflow_m3 = 0.0  #: total inflow from the open sea

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self._step()

    @property
    def volume_m3(self) -> float:
        """Volume of water above the rest level."""
        return float((self.state[:, 0].astype(float) * self._mesh.areas).sum())

    def _tide(self) -> np.float32:
        """Interpolates between the levels of nominal steps."""
        step = int(self.time)
        before, behind = self._parameters.tide(step, 2)
        return np.float32(before + (self.time - np.float32(step)) * (behind - before))

    def _step(self) -> None:
        gravity, *others = self._parameters.constants
        coriolis, friction = (self.ratio * each for each in others)
        tide = self._tide()
        level, x, y = (self.state[:, k] for k in range(3))
        flows = [self._edge(k, tide, gravity) for k in range(3)]
        mass, along_x, along_y = (flows[0][k] + flows[1][k] + flows[2][k] for k in range(3))
        if self._sea.any():
            self.inflow_m3 -= (
                float(self.ratio)
                * self._parameters.step_s
                * sum(float(flows[k][0][self._sea[:, k]].astype(float).sum()) for k in range(3))
            )
        scale = self.ratio * self._scales
        new_level = level - scale * mass
        new_x = (x - scale * along_x) + coriolis * y
        new_y = (y - scale * along_y) - coriolis * x
        height = new_level + self._mesh.depths
        slowed = ONE / (ONE + friction * np.sqrt(new_x * new_x + new_y * new_y) / (height * height))
        self.state = np.stack([new_level, new_x * slowed, new_y * slowed], axis=1)
        self.time += self.ratio
        if self._adaptive:
            self.ratio = self._next_ratio([flow[3] for flow in flows])

    def _next_ratio(self, waves: list[Array]) -> np.float32:
        lengths = [self._mesh.edges[:, k, 2] * waves[k] for k in range(3)]
        pace = (lengths[0] + lengths[1] + lengths[2]) * self._scales
        return min(np.float32(MAX_RATIO), np.float32(2 * COURANT) / pace.max())

    def _edge(self, k: int, tide: np.float32, gravity: np.float32) -> tuple[Array, Array, Array, Array]:
        """Returns the outflow of each triangle through its edge k (water, and momentum without that of its own pressure),
        and the fastest wave there."""
        normal_x, normal_y, length, depth = (self._mesh.edges[:, k, part] for part in range(4))
        own = self.state
        land, sea, left = self._land[:, k], self._sea[:, k], self._mesh.is_left[:, k]
        other = own[self._others[:, k]]
        into = own[:, 1] * normal_x + own[:, 2] * normal_y
        twice = into + into
        other[:, 1] = np.where(land, own[:, 1] - twice * normal_x, other[:, 1])
        other[:, 2] = np.where(land, own[:, 2] - twice * normal_y, other[:, 2])
        other[:, 0] = np.where(sea, tide, other[:, 0])
        a, b = np.where(left[:, None], own, other), np.where(left[:, None], other, own)
        height_a, height_b = a[:, 0] + depth, b[:, 0] + depth
        flow_a, flow_b = a[:, 1] * normal_x + a[:, 2] * normal_y, b[:, 1] * normal_x + b[:, 2] * normal_y
        speed_a, speed_b = flow_a / height_a, flow_b / height_b
        pressure_a = gravity * (a[:, 0] * (HALF * a[:, 0] + depth))
        pressure_b = gravity * (b[:, 0] * (HALF * b[:, 0] + depth))
        wave = np.maximum(np.abs(speed_a) + np.sqrt(gravity * height_a), np.abs(speed_b) + np.sqrt(gravity * height_b))
        half = HALF * length
        mass = half * ((flow_a + flow_b) - wave * (b[:, 0] - a[:, 0]))
        # Own pressure, computed in the same halves, so the difference is 0 at rest.
        pressure = (pressure_a + pressure_b) - np.where(left, pressure_a + pressure_a, pressure_b + pressure_b)
        along_x = half * ((a[:, 1] * speed_a + b[:, 1] * speed_b) + pressure * normal_x - wave * (b[:, 1] - a[:, 1]))
        along_y = half * ((a[:, 2] * speed_a + b[:, 2] * speed_b) + pressure * normal_y - wave * (b[:, 2] - a[:, 2]))
        mass = np.where(land, np.float32(0), mass)
        sign = np.where(left, ONE, -ONE)
        return sign * mass, sign * along_x, sign * along_y, wave
