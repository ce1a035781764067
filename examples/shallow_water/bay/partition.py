# SPDX-License-Identifier: Apache-2.0
"""Partitions of a mesh, one per board, and the tables by which the kernels find triangles and neighbours."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bay.mesh import LAND, Integers, Mesh

ELEMENTS = 8192  #: maximum elements in a board's memory with UDP (section 4.3 of the paper)
HALO = 2048  #: maximum elements of other boards in a board's memory
LEFT, LAND_EDGE, SEA_EDGE = (
    1 << 16,
    1 << 17,
    1 << 18,
)  #: bits of an edge's link above the number of the element on the other side


@dataclass(frozen=True)
class Partition:
    """The part of the mesh that one board computes.

    `elements` has mesh indices. The first `boundary` elements are sent to other boards. `sends` and `receives` list the
    elements exchanged with each board in `neighbours`, in ascending order of boards.
    """

    elements: Integers
    boundary: int
    neighbours: tuple[int, ...]
    sends: tuple[Integers, ...]
    receives: tuple[Integers, ...]

    @property
    def halo(self) -> Integers:
        return np.concatenate([np.empty(0, np.int64), *self.receives])

    @property
    def core(self) -> int:
        return len(self.elements) - self.boundary

    @property
    def sent(self) -> int:
        """Elements in all messages of a step."""
        return sum(map(len, self.sends))


@dataclass(frozen=True)
class Cut:
    """A partitioned mesh; `of` is the partition of each element."""

    mesh: Mesh
    of: Integers
    partitions: tuple[Partition, ...]

    def firsts(self, number: int) -> list[int]:
        """For each neighbour of a partition, the position of the partition's elements among all that the neighbour
        receives."""
        found = []
        for other in self.partitions[number].neighbours:
            part = self.partitions[other]
            before = part.receives[: part.neighbours.index(number)]
            found.append(sum(map(len, before)))
        return found

    @property
    def most_neighbours(self) -> int:
        return max(len(each.neighbours) for each in self.partitions)

    @property
    def longest_message(self) -> int:
        """Elements in the longest message."""
        return max((len(each) for part in self.partitions for each in part.sends), default=0)


def cut(mesh: Mesh, parts: int, most: int = ELEMENTS) -> Cut:
    """Partitions a mesh by METIS, deterministically.

    `most` is the maximum number of elements per board. Raises ValueError if a board's memory is too small, and without
    METIS.
    """
    others = mesh.neighbours
    of = np.zeros(len(mesh), np.int64)
    if parts > 1:
        of = _by_metis(others, parts)
    owners = np.where(others >= 0, of[others], of[:, None])
    partitions = tuple(_partition(of, owners, others, number) for number in range(parts))
    for number, part in enumerate(partitions):
        if not len(part.elements):
            raise ValueError(f"partition {number} of {parts} has none of {len(mesh)} elements; use fewer partitions")
        if len(part.elements) > most or len(part.halo) > HALO:
            raise ValueError(
                f"partition {number} has {len(part.elements)} elements and {len(part.halo)} of others, but a board holds {most} and {HALO}; use more partitions"
            )
    return Cut(mesh, of, partitions)


def _by_metis(others: Integers, parts: int) -> Integers:
    if find_spec("pymetis") is None:
        raise ValueError(f"partitioning a mesh needs METIS: {sys.executable} -m pip install 'thalweg[shallow-water]'")
    inner = others >= 0
    starts = np.concatenate([[0], np.cumsum(inner.sum(axis=1))])
    given = json.dumps([parts, starts.tolist(), others[inner].tolist()])
    command = [sys.executable, str(Path(__file__).with_name("metis.py"))]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        why = done.stderr.strip().splitlines()[-1:] or [f"it ended with status {done.returncode}"]
        raise ValueError(f"METIS cannot cut {len(others)} elements into {parts} partitions: {why[0]}")
    return np.asarray(json.loads(done.stdout), np.int64)


def _partition(of: Integers, owners: Integers, others: Integers, number: int) -> Partition:
    own = np.flatnonzero(of == number)
    outside = owners[own] != number
    neighbours = tuple(int(each) for each in np.unique(owners[own][outside]))
    sends = tuple(own[(owners[own] == each).any(axis=1)] for each in neighbours)
    receives = tuple(np.unique(others[own][owners[own] == each]) for each in neighbours)
    is_boundary = outside.any(axis=1)
    elements = np.concatenate([own[is_boundary], own[~is_boundary]])
    return Partition(elements, int(is_boundary.sum()), neighbours, sends, receives)


@dataclass(frozen=True)
class Tables:
    """Tables of a partition, as the kernels load them.

    `geometry` has 16 words per element: normal (x, y), length and depth of each edge, then step over area, and depth.
    `links` has 4 per element: for each edge the other element's position and flags. `sent` has positions of elements
    for the neighbours, consecutively; `counts` has their numbers.
    """

    geometry: NDArray[np.float32]
    links: NDArray[np.int32]
    sent: NDArray[np.int32]
    counts: NDArray[np.int32]
    neighbours: NDArray[np.int32]


def tables(mesh: Mesh, part: Partition, scales: NDArray[np.float32]) -> Tables:
    own = part.elements
    place = np.full(len(mesh), -1)
    place[own] = np.arange(len(own))
    place[part.halo] = len(own) + np.arange(len(part.halo))
    others = mesh.neighbours[own]
    links = np.zeros((len(own), 4), np.int32)
    at = np.where(others >= 0, place[others], np.arange(len(own))[:, None])
    links[:, :3] = at + LEFT * mesh.is_left[own]
    links[:, :3] += np.where(others < 0, np.where(others == LAND, LAND_EDGE, SEA_EDGE), 0)
    geometry = np.zeros((len(own), 16), np.float32)
    geometry[:, :12] = mesh.edges[own].reshape(-1, 12)
    geometry[:, 12], geometry[:, 13] = scales[own], mesh.depths[own]

    def integers(values: object) -> NDArray[np.int32]:
        return np.asarray(values, np.int32)

    sent = integers(np.concatenate([np.empty(0, np.int64), *(place[each] for each in part.sends)]))
    return Tables(geometry, links, sent, integers([len(each) for each in part.sends]), integers(part.neighbours))
