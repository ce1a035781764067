# SPDX-License-Identifier: Apache-2.0
"""The shallow-water simulation of the paper's section 4 (examples/shallow_water): steps on boards, checked against the
NumPy solver."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from thalweg import extras
from thalweg.errors import CheckFailed, InputError
from thalweg.resources import resource

STEPS = 8  #: steps of a measurement, which take the same cycles


@cache
def bay(name: str) -> Any:
    """Imports a module of the example. Raises InputError if its requirements are not installed."""
    if "bay" not in sys.modules:
        folder = resource("examples/shallow_water/bay")
        spec = importlib.util.spec_from_file_location(
            "bay", folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        assert spec and spec.loader
        sys.modules["bay"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["bay"])
    return importlib.import_module(f"bay.{name}")


@cache
def mesh(elements: int) -> Any:
    """Returns the mesh with the closest number of elements."""
    return bay("mesh").bay(elements)


@cache
def cut(elements: int, boards: int, most: int) -> Any:
    """Partitions the mesh into boards of at most `most` elements. Raises InputError if this is impossible, or without
    METIS."""
    try:
        return bay("partition").cut(mesh(elements), boards, most)
    except ValueError as error:
        raise InputError(f"shallow water: {error}") from None


@cache
def _expected(elements: int, adaptive: bool) -> bytes:
    of, model = mesh(elements), bay("model")
    reference = model.Reference(of, model.Parameters.of(of), model.hill(of), adaptive)
    reference.run(STEPS)
    state: bytes = reference.state.tobytes()
    return state


@dataclass(frozen=True)
class Point:
    """A mesh on some boards: `cycles` per step, `stalled` share of the pipelines' cycles, `model` by Equations 2 and 3."""

    boards: int
    elements: int
    neighbours: int
    most_elements: int
    cycles: float
    stalled: float
    model: Any

    @property
    def clock_mhz(self) -> float:
        return float(self.model.clock_mhz)

    @property
    def per_second(self) -> float:
        """Elements per second."""
        return self.elements * self.clock_mhz * 1e6 / self.cycles

    @property
    def modelled(self) -> float:
        """Elements per second by Equation 2."""
        return float(self.elements * self.clock_mhz * 1e6 / self.model.equation_2)

    @property
    def communication_us(self) -> float:
        """L_comm by Equation 2, of boards whose pipelines stall."""
        return float(self.model.communication_of(self.cycles)) / self.clock_mhz

    @property
    def about(self) -> Mapping[str, Any]:
        """Columns of rows of this point."""
        return {
            "boards": self.boards,
            "elements": self.elements,
            "neighbours": self.neighbours,
            "cycles": self.cycles,
            "stalled": self.stalled,
            "equation_2": self.model.equation_2,
            "elements_per_s": self.per_second,
        }


def measured(elements: int, boards: int, by: str = "udp", **changed: str) -> Point:
    """Measures a point; `changed` has halo, step and sequencer of the example's Design.

    Raises InputError, and CheckFailed if a bit is wrong or a packet is lost.
    """
    of, model = mesh(elements), bay("model")
    design = bay("boards").DESIGNS[by].changed(**changed)
    parts = cut(elements, boards, design.elements)
    result = bay("boards").simulate(parts, model.Parameters.of(of), model.hill(of), STEPS, by=design)
    if result.lost or result.states[-1].tobytes() != _expected(elements, design.step != "nominal"):
        raise CheckFailed(f"shallow water with {len(of)} elements on {boards} boards by {by} gave a wrong result")
    return Point(
        boards,
        len(of),
        parts.most_neighbours,
        max(len(each.elements) for each in parts.partitions),
        result.cycles_a_step,
        result.stalled_share,
        bay("timing").model(parts, design),
    )


def flop() -> int:
    """Floating-point operations per element and step. Raises InputError without libclang."""
    try:
        return int(bay("operations").flop())
    except ModuleNotFoundError:
        raise extras.missing("shallow water needs libclang and METIS", "shallow-water") from None


def few_neighbours(elements: int, boards: Iterable[int], most: int) -> Mapping[int, int]:
    """Returns how many partitions have at most `most` neighbours, for each number of boards. A board may hold any number
    of elements."""
    return {
        count: sum(len(part.neighbours) <= most for part in cut(elements, count, elements).partitions)
        for count in boards
    }
