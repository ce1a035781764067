# SPDX-License-Identifier: Apache-2.0
"""Do programs that end by construction end, with every element at its destination, on clusters of any shape and size?
And are deadlocks reported, each with its wait-for cycle of kernels? A random program is determined by its seed."""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path

import pytest
from thalweg.systems.smi.cluster import Cluster
from thalweg.systems.smi.run import Stuck

sys.path.insert(0, str(Path(__file__).parent))
from random_circles import Deadlocked, circle_of
from random_programs import Program, random_cluster

pytestmark = pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")

PROGRAMS = 10  #: on a cluster


class Clusters:
    """The cluster of each seed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.last: tuple[int, Cluster] | None = None

    def of(self, seed: int) -> Cluster:
        number = seed // PROGRAMS
        if self.last is None or self.last[0] != number:
            self.last = number, random_cluster(random.Random(number), self.folder)
        return self.last[1]


def end(seeds: range, folder: Path) -> None:
    clusters = Clusters(folder)
    moved = 0
    for seed in seeds:
        draw = random.Random(seed)
        program = Program(draw, clusters.of(seed))
        program.add_some(draw.randint(1, 10))
        try:
            moved += program.run().elements
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}") from error
    assert moved > 100 * len(seeds)


def stand_still(seeds: range, folder: Path) -> None:
    clusters = Clusters(folder)
    for seed in seeds:
        draw = random.Random(seed)
        program = Deadlocked(draw, clusters.of(seed))
        program.add_some(draw.randint(0, 5))
        circle = program.add_circle(draw.randint(1, 6))
        program.add_some(draw.randint(0, 4))
        with pytest.raises(Stuck) as stuck:
            program.run()
        found = circle_of(stuck.value.lines)
        assert found in [circle[i:] + circle[:i] for i in range(len(circle))], f"seed {seed}: {circle}\n{stuck.value}"


@pytest.mark.sample(2)
@pytest.mark.slow
def test_programs_end_with_every_element_in_its_place(tmp_path: Path) -> None:
    end(range(100), tmp_path)


@pytest.mark.slow
def test_a_circle_is_reported_as_it_is(tmp_path: Path) -> None:
    stand_still(range(30), tmp_path)


@pytest.mark.long
def test_ten_thousand_programs_end(tmp_path: Path) -> None:
    """Three minutes of CPU."""
    end(range(200, 10_200), tmp_path)


@pytest.mark.long
def test_a_thousand_circles(tmp_path: Path) -> None:
    """A minute of CPU."""
    stand_still(range(30, 1030), tmp_path)
