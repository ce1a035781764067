# SPDX-License-Identifier: Apache-2.0
"""GESUMMV and the stencil (apps/smi) in simulated time, with results compared with those of a plain program."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from thalweg.errors import CheckFailed
from thalweg.resources import resource
from thalweg.systems.smi.cluster import Cluster

Grid = tuple[int, int]
"""Ranks: rows and columns."""


@cache
def _app(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"smi_{name}", resource(f"apps/smi/{name}/{name}.py"))
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module  # needed by its dataclasses
    spec.loader.exec_module(module)
    return module


def gesummv_us(cluster: Cluster, rows: int, columns: int) -> tuple[float, float]:
    """Returns the times on one rank and on two in us. Raises InputError, and CheckFailed if a result is wrong."""
    gesummv = _app("gesummv")
    problem = gesummv.Problem.random(rows, columns)
    times = []
    for ranks in (1, 2):
        outcome = gesummv.simulate(cluster, problem, ranks)
        if not np.array_equal(outcome.y, problem.plain(2 * ranks)):
            raise CheckFailed(f"GESUMMV of {rows} x {columns} on {ranks} ranks gave a wrong result")
        times.append(outcome.time_us)
    return times[0], times[1]


class Stencil:
    """The stencil on a fixed random field of the given size."""

    def __init__(self, rows: int, columns: int) -> None:
        self._points = np.random.default_rng([rows, columns]).random((rows, columns), dtype=np.float32)
        self._plain: dict[int, NDArray[np.float32]] = {}

    def us(self, cluster: Cluster, grid: Grid, banks: int, steps: int) -> float:
        """Returns the time of a number of steps in us. Raises InputError, and CheckFailed if a result is wrong."""
        stencil = _app("stencil")
        if steps not in self._plain:
            self._plain[steps] = stencil.plain(self._points, steps)
        outcome = stencil.simulate(cluster, self._points, steps, grid, banks)
        if not np.array_equal(outcome.points, self._plain[steps]):
            raise CheckFailed(f"{steps} steps of the stencil on {self._points.shape} points gave a wrong result")
        time_us: float = outcome.time_us
        return time_us

    def step_us(self, cluster: Cluster, grid: Grid, banks: int, counts: tuple[int, int]) -> tuple[float, float]:
        """Returns the time of a step and of start and end, from the times of two numbers of steps."""
        few_us, many_us = (self.us(cluster, grid, banks, steps) for steps in counts)
        step = (many_us - few_us) / (counts[1] - counts[0])
        return step, few_us - counts[0] * step
