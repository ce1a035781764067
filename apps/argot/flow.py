# SPDX-License-Identifier: Apache-2.0
"""Rounds of rays, sums over the mesh and chemistry, until ionization is in equilibrium.

Each GPU has the cells of a box. The rays of a luminous point reach a box after the boxes nearer to the point, whose
outermost depths they need. So a round has as many steps as the longest way has boxes; before each, depths are sent to the
next boxes. Then the photons of each eighth of the tree are summed over the mesh, and its rates are scaled such that
absorbed and escaped photons equal the emitted ones. Further sums tell whether ionization is in equilibrium.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import chemistry
import gpu
import numpy as np
import radiation
from mesh import MAX_BOXES, Division, box
from nodes import FIELDS, Mesh, Message
from numpy.typing import NDArray
from octree import Group, seen, tree
from radiation import Depths, Light
from thalweg.errors import CheckFailed

TOLERANCE = 1e-4
MOST_ROUNDS = 200
START = 1e-6  # initial neutral fraction: nearly all is ionized, and ionized regions only shrink

Numbers = NDArray[np.float64]


class Budget(NamedTuple):
    """Sums over the mesh: the eight fields of a record. Photons and recombinations are relative to the photons of all
    sources."""

    near: float  #: photons absorbed from single sources
    far: float  #: photons absorbed from groups
    escaped: float  #: photons that leave the mesh
    recombined: float
    ionized: float  #: cells
    gained: float  #: increase of `ionized` in the round
    lost: float
    edge: float  #: cells, sum of 4 x (1 - x)

    @property
    def steady(self) -> bool:
        unused = 1 - self.escaped - self.recombined
        return self.gained + self.lost < TOLERANCE * self.ionized and abs(unused) < 10 * TOLERANCE


@dataclass(frozen=True)
class Problem:
    cells: int  #: cells along an edge
    places: NDArray[np.int64]  #: the sources' cells
    luminosities: Numbers  #: relative; the sum is 1
    opening: float = 0.7  #: radian
    density: float = chemistry.DENSITY  #: per cubic cm

    @property
    def edge(self) -> float:
        """Edge of a cell, in cm."""
        return chemistry.BOX * chemistry.stroemgren(self.density) / self.cells

    @cached_property
    def eighths(self) -> tuple[Group, ...]:
        """The parts of the sources' tree."""
        root = tree(self.places, self.luminosities, self.cells)
        return root.parts or (root,)


@dataclass(frozen=True)
class State:
    neutral: Numbers
    budgets: list[Budget]
    rays: int  #: number of rays of a round


class Next(NamedTuple):
    """A box that needs another one's depths."""

    gpu: int
    axis: int
    upper: bool  #: it lies on the upper side


class Task(NamedTuple):
    """The rays of a luminous point in a GPU's box."""

    point: int  #: in the order of the tree
    group: Group
    eighth: int  #: of the tree
    gpu: int
    at: NDArray[np.int64]  #: numbers of the box's cells that see the group as one point
    following: list[Next]


class Program:
    """The computation of all GPUs."""

    def __init__(self, problem: Problem, mesh: Mesh) -> None:
        self.problem, self.mesh = problem, mesh
        self.division = Division.of(problem.cells, mesh.gpus)
        self.steps = self._steps()
        self._order = [self._by_finest_boxes(number) for number in range(mesh.gpus)]
        cells = problem.cells**3 // mesh.gpus
        self._photons = dict.fromkeys(range(mesh.gpus), gpu.ns(cells, gpu.PHOTONS))
        self._chemistry = dict.fromkeys(range(mesh.gpus), gpu.ns(cells, gpu.CHEMISTRY))

    @property
    def rays(self) -> int:
        return sum(len(task.at) for tasks in self.steps for task in tasks)

    def round(self, neutral: Sequence[Numbers]) -> tuple[list[Numbers], Budget]:
        """Returns each box's neutral fractions at which rates balance recombinations, and the sums over the mesh."""
        edge, density = self.problem.edge, self.problem.density
        depth = chemistry.CROSS_SECTION * density * edge
        recombining = chemistry.RECOMBINATION * density**2 * edge**3 / chemistry.PHOTONS
        opacity = [depth * each for each in neutral]
        lights = self._lights(opacity)
        photons = [(near + far) * own + out for own, (near, far, out) in zip(opacity, lights, strict=True)]
        emitted = np.array([group.luminosity for group in self.problem.eighths])
        right = emitted / self._total(photons, self._photons, to_gpus=True)[: len(emitted)]

        after, fields = [], []
        for before, own, of_box in zip(neutral, opacity, lights, strict=True):
            near, far, out = (np.einsum("k,kc->c", right, each) for each in of_box)
            rate = (near + far) * chemistry.PHOTONS * chemistry.CROSS_SECTION / edge**2
            now = chemistry.neutral(rate, density)
            ionized, change = 1 - now, before - now
            after.append(now)
            fields.append(
                np.stack(
                    [
                        near * own,
                        far * own,
                        out,
                        recombining * ionized**2,
                        ionized,
                        np.maximum(change, 0),
                        np.maximum(-change, 0),
                        4 * ionized * now,
                    ]
                )
            )
        return after, Budget(*self._total(fields, self._chemistry, to_gpus=False).tolist())

    def _total(self, fields: Sequence[Numbers], kernels_ns: Mapping[int, float], to_gpus: bool) -> NDArray[np.floating]:
        """Sums up to eight fields of all cells."""
        self.mesh.step([], kernels_ns)
        records = []
        for of_box, order in zip(fields, self._order, strict=True):
            record = np.zeros((of_box.shape[1], FIELDS), np.float32)
            record[:, : len(of_box)] = of_box.T
            records.append(record[order])
        return self.mesh.total(records, to_gpus)

    def _lights(self, opacity: Sequence[Numbers]) -> list[tuple[Numbers, Numbers, Numbers]]:
        """For each box, by eighth of the tree and cell: photons absorbed from single sources and from groups, divided
        by the optical depth of the cell's edge, and photons that leave the mesh."""
        found: list[list[tuple[Task, Light]]] = [[] for _ in opacity]
        sent: dict[tuple[int, Next], list[tuple[int, Depths]]] = {}
        for tasks in self.steps:
            faces = self._exchange(sent, self._kernels(tasks))
            sent = defaultdict(list)
            for task in tasks:
                box, source = self.division.boxes[task.gpu], radiation.source_of(task.group)
                ways = radiation.rays(opacity[task.gpu], box, source, faces[task.gpu, task.point])
                if len(task.at):
                    light = radiation.light(task.group, ways, opacity[task.gpu], box, task.at, self.problem.cells)
                    found[task.gpu].append((task, light))
                for following in task.following:
                    layer = radiation.face(ways.after, following.axis, following.upper)
                    sent[task.gpu, following].append((task.point, layer))
        return [self._by_eighth(number, of_box) for number, of_box in enumerate(found)]

    def _exchange(
        self, sent: Mapping[tuple[int, Next], Sequence[tuple[int, Depths]]], kernels_ns: Mapping[int, float]
    ) -> Mapping[tuple[int, int], Mapping[int, Depths]]:
        """Sends layers of depths between GPUs, one message to each. Returns those for each GPU and point, by axis."""
        messages = [
            Message(
                number, to.gpu, 2 * to.axis + (not to.upper), np.concatenate([layer.ravel() for _, layer in layers])
            )
            for (number, to), layers in sent.items()
        ]
        faces: dict[tuple[int, int], dict[int, Depths]] = defaultdict(dict)
        for ((_, to), layers), values in zip(sent.items(), self.mesh.step(messages, kernels_ns), strict=True):
            for (point, layer), arrived in zip(layers, np.split(values, len(layers)), strict=True):
                faces[to.gpu, point][to.axis] = arrived.reshape(layer.shape)
        return faces

    def _kernels(self, tasks: Sequence[Task]) -> dict[int, float]:
        """Duration of each GPU's kernels in a step: one for each shell, for the rays of all points."""
        cells, shells = self.problem.cells**3 // self.mesh.gpus, defaultdict(list)
        for task in tasks:
            box = self.division.boxes[task.gpu]
            shells[task.gpu].append(len(radiation.shells(box, radiation.source_of(task.group))))
        return {number: gpu.ns(len(all_) * cells, gpu.RAYS, max(all_)) for number, all_ in shells.items()}

    def _by_eighth(self, number: int, found: Sequence[tuple[Task, Light]]) -> tuple[Numbers, Numbers, Numbers]:
        near, far, out = np.zeros((3, len(self.problem.eighths), self.problem.cells**3 // self.mesh.gpus))
        for task, light in sorted(found, key=lambda each: each[0].point):  # in an order that no division changes
            (far if task.group.parts else near)[task.eighth, task.at] += light.through
            out[task.eighth, task.at] += light.out
        return near, far, out

    def _steps(self) -> list[list[Task]]:
        """The tasks of each step: boxes at one distance from their points, in the order of the tree."""
        steps: dict[int, list[Task]] = defaultdict(list)
        points: dict[int, tuple[int, Group]] = {}  # by the group's identity
        seeing: dict[int, dict[int, NDArray[np.int64]]] = defaultdict(dict)
        for eighth, part in enumerate(self.problem.eighths):
            points |= {id(group): (eighth, group) for group in part.walk()}
            for number, own in enumerate(self.division.boxes):
                for group, at in seen(part, own.cells, self.problem.opening):
                    seeing[id(group)][number] = at
        for point, (name, (eighth, group)) in enumerate(points.items()):
            source, following = radiation.source_of(group), self._ways(group, seeing[name])
            for number in sorted(following):
                at = seeing[name].get(number, np.zeros(0, np.int64))
                task = Task(point, group, eighth, number, at, following[number])
                steps[self.division.distance(number, source)].append(task)
        return [steps[distance] for distance in sorted(steps)]

    def _ways(self, group: Group, ends: Sequence[int] | Mapping[int, object]) -> dict[int, list[Next]]:
        """The boxes on the ways from a point to the boxes `ends`, each with the next ones."""
        source = radiation.source_of(group)
        ways: dict[int, list[Next]] = {}
        pending = list(ends)
        while pending:
            number = pending.pop()
            if number in ways:
                continue
            ways[number] = []
            pending += self.division.towards(number, source).values()
        for number in sorted(ways):
            for axis, nearer in self.division.towards(number, source).items():
                ways[nearer].append(Next(number, axis, bool(self.division.boxes[number].low[axis] > source[axis])))
        return ways

    def _by_finest_boxes(self, number: int) -> NDArray[np.int64]:
        """Numbers of a GPU's cells, by boxes of the finest division: boxes x cells."""
        own = self.division.boxes[number]
        numbers = np.arange(np.prod(own.size)).reshape(own.size)
        parts = [box(part, MAX_BOXES, self.problem.cells) for part in range(number, MAX_BOXES, self.mesh.gpus)]
        return np.stack([numbers[part.within(own)].ravel() for part in parts])


def solve(problem: Problem, mesh: Mesh) -> State:
    """Raises CheckFailed if there is no equilibrium after MOST_ROUNDS rounds."""
    program = Program(problem, mesh)
    boxes = program.division.boxes
    neutral = [np.full(int(np.prod(each.size)), START) for each in boxes]
    budgets: list[Budget] = []
    while len(budgets) < MOST_ROUNDS:
        neutral, budget = program.round(neutral)
        budgets.append(budget)
        if len(budgets) > 1 and budget.steady:
            whole = np.empty((problem.cells,) * 3)
            for each, values in zip(boxes, neutral, strict=True):
                whole[each.slices] = values.reshape(each.size)
            return State(whole, budgets, program.rays)
    raise CheckFailed(f"no equilibrium after {MOST_ROUNDS} rounds")
