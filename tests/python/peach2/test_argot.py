# SPDX-License-Identifier: Apache-2.0
"""ARGOT on small problems: theoretical radii, the same bits on any number of ranks, and the error of the oct-tree."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[3] / "apps/argot"))

import argot  # noqa: E402
import chemistry  # noqa: E402
from flow import Budget, Problem, State, eighths, solve  # noqa: E402
from octree import seen, tree  # noqa: E402
from radiation import light, rays  # noqa: E402
from sums import HubSums, serial  # noqa: E402


def in_one_dimension(density: float) -> float:
    """The radius, in Stroemgren radii, of a sphere as large as the ionized region: depth by depth outwards through
    100000 shells, each ionized to the balance of photons and recombinations."""
    sphere = chemistry.stroemgren(density)
    radius, step = np.linspace(0, 1.5, 100_000, endpoint=False, retstep=True)
    depth, volume = 0.0, 0.0
    for r in (radius + step / 2).tolist():
        flux = chemistry.PHOTONS * np.exp(-depth) / (4 * np.pi * (r * sphere) ** 2)
        ratio = flux * chemistry.CROSS_SECTION / (chemistry.RECOMBINATION * density)
        if ratio < 1e-9:
            break
        ionized = (np.sqrt(ratio**2 + 4 * ratio) - ratio) / 2
        depth += chemistry.CROSS_SECTION * density * sphere * step * (1 - ionized)
        volume += 3 * r**2 * step * ionized
    return float(volume ** (1 / 3))


def radius(case: Problem, state: State) -> float:
    """The radius in Stroemgren radii, from the mesh itself."""
    ionized = (1 - state.neutral).sum() * case.edge**3
    return float((3 * ionized / (4 * np.pi)) ** (1 / 3) / chemistry.stroemgren(case.density))


@pytest.mark.slow
@pytest.mark.parametrize(("cells", "sources"), [(16, 1), (8, 4)])
def test_ranks_give_the_same_bits_and_a_serial_run_the_same_state(cells: int, sources: int) -> None:
    case = argot.problem(cells, sources)
    states = {ranks: solve(case, HubSums(ranks)) for ranks in (1, 2, 4, 8)}
    assert len({argot.digest(state) for state in states.values()}) == 1
    alone = solve(case, serial)
    assert np.abs(alone.neutral - states[8].neutral).max() < 1e-4
    np.testing.assert_allclose(alone.budgets[-1], states[8].budgets[-1], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_hubs_sum_in_the_one_tree(ranks: int) -> None:
    """To the bit, for numbers whose sum depends on the order: cell by cell into eight partial sums, then repeated
    halving."""
    seed = 7
    draw = np.random.default_rng(seed)
    records = (draw.standard_normal((8, 108, 8)) * 10.0 ** draw.integers(-6, 6, (8, 108, 1))).astype(np.float32)

    def halved(sums: NDArray[np.float32]) -> NDArray[np.float32]:
        while len(sums) > 1:
            sums = sums[: len(sums) // 2] + sums[len(sums) // 2 :]
        return sums[0]

    def eighth(cells: NDArray[np.float32]) -> NDArray[np.float32]:
        sums = cells[:8].copy()
        for first in range(8, len(cells), 8):
            part = cells[first : first + 8]
            sums[: len(part)] += part
        return halved(sums)

    expected = halved(np.stack([eighth(cells) for cells in records]))
    total = HubSums(ranks)
    assert total(records).tobytes() == expected.tobytes(), f"seed {seed}"
    assert total.us > 0


def test_time_is_not_below_what_the_bus_takes() -> None:
    """The bus moves 16 bytes per cycle at 150 MHz; processors have two copies of 10 us each, and their rate."""
    records = np.zeros((8, 512, 8), np.float32)
    for ranks in (1, 4, 8):
        sums = HubSums(ranks)
        sums(records)
        size = records.nbytes / ranks
        assert size / 2400 < sums.us < 2 * size / 2400 + 20
        assert sums.processors_us(512) > 20 + size / 6000 + size / 12800


@pytest.mark.parametrize(("density", "cells"), [(1e-3, 32), (1.0, 24)])
def test_the_radius_is_that_in_one_dimension(density: float, cells: int) -> None:
    """Also for a wide edge: with the density of Iliev et al., the ionized region is a sphere 3.8 % larger than
    Stroemgren's."""
    case = argot.problem(cells, 1, density=density)
    found = radius(case, solve(case, serial))
    assert found == pytest.approx(in_one_dimension(density), rel=0.02)
    # and also for sharp edges
    assert (found > 1.03) == (density < 1e-2)


def test_the_ionized_region_is_round() -> None:
    """Half ionized at the same distance along axes, along diagonals of planes and of the cube, within one cell."""
    case = argot.problem(32, 1)
    neutral = solve(case, serial).neutral
    found = []
    for way in [(1, 0, 0), (0, -1, 0), (1, 1, 0), (0, -1, 1), (1, 1, 1), (-1, 1, -1)]:
        steps = np.arange(15)
        at = 16 + np.outer(steps, way)
        along = neutral[at[:, 0], at[:, 1], at[:, 2]]
        first = int(np.argmax(along > 0.5))
        found.append(
            float(np.interp(0.5, along[first - 1 : first + 1], steps[first - 1 : first + 1]) * np.linalg.norm(way))
        )
    assert max(found) - min(found) < 1


@pytest.mark.slow
def test_several_sources_ionize_as_much_as_they_give() -> None:
    """Recombinations per second equal the photons that do not escape: counted here over the mesh."""
    case = argot.problem(12, 10)
    state = solve(case, HubSums(8))
    last = state.budgets[-1]
    recombined = ((1 - state.neutral) ** 2).sum() * case.edge**3 * chemistry.RECOMBINATION * case.density**2
    assert last.far > 0 and 0 < last.escaped < 0.3
    assert recombined / chemistry.PHOTONS == pytest.approx(1 - last.right * last.escaped, abs=2e-3)


@pytest.mark.parametrize("opening", [0.3, 0.7])
def test_groups_are_as_bright_as_their_sources_within_the_opening_angle(opening: float) -> None:
    """Nothing absorbs: 1/r^2 of each source is the expected value. With the group's centre as origin the first term of
    the error is quadrupolar: at most 3 (s/d)^2 if sources are within s of the centre, and s <= sqrt(3) x size. On
    average it is far below."""
    n, seed = 16, 3
    draw = np.random.default_rng(seed)
    places, luminosities = draw.integers(0, n, (40, 3)), draw.uniform(0.5, 1.5, 40)
    cells = np.indices((n, n, n), np.int32).reshape(3, -1).T
    groups = list(seen(tree(places, luminosities, n), cells, opening))
    found = np.zeros(n**3)
    clear = np.full((n, n, n), 1e-9)
    for group, at in groups:
        found[at] += light(clear, group, cells, at).through
    squared = ((cells[:, None, :] - places[None]) ** 2).sum(axis=-1)
    dark = (squared > 0).all(axis=1)  # a source's own cell has all of its light
    direct = (luminosities / (4 * np.pi * np.maximum(squared, 1))).sum(axis=1)
    error = np.abs(found / direct - 1)[dark]
    assert error.max() < opening**2, f"seed {seed}"
    assert error.mean() < opening**2 / 10
    assert error.max() > 0
    assert sum(len(at) for _, at in groups) < 40 * n**3


def test_each_cell_has_the_light_of_all_sources_once() -> None:
    draw = np.random.default_rng(5)
    places, luminosities = draw.integers(0, 16, (30, 3)), draw.uniform(0.5, 1.5, 30)
    cells = np.indices((16, 16, 16), np.int32).reshape(3, -1).T
    all_light = np.zeros(len(cells))
    for group, at in seen(tree(places, luminosities, 16), cells, 0.7):
        all_light[at] += group.luminosity
        assert not group.parts or (group.size < 0.7 * np.linalg.norm(cells[at] - group.at, axis=1)).all()
    np.testing.assert_allclose(all_light, luminosities.sum())


def test_rays_pass_what_lies_on_their_way() -> None:
    """In a uniform medium, the depth before a cell is its distance minus half of its own part, exactly so along axes,
    within the interpolation error elsewhere; behind a wall, the depth of the wall."""
    n, source = 12, [3, 4, 5]
    ways = rays(np.ones((n, n, n)), source, n)
    distance = np.linalg.norm(np.indices((n, n, n)).reshape(3, -1).T - source, axis=1).reshape(n, n, n)
    away = distance > 0
    np.testing.assert_allclose((ways.before + ways.path / 2)[away], distance[away], rtol=0.12)
    np.testing.assert_allclose(ways.before[3, 4, 6:], np.arange(6 - 5.5, n - 5.5))
    wall = np.zeros((n, n, n))
    wall[7] = 2.0
    behind = rays(wall, source, n)
    ahead = np.abs(np.indices((n, n, n))[1] - 4), np.abs(np.indices((n, n, n))[2] - 5)
    straight = (np.indices((n, n, n))[0] > 7) & (np.maximum(*ahead) < np.indices((n, n, n))[0] - 3)
    assert (behind.before[:7] == 0).all() and (behind.before[straight] >= 2).all()


def test_eighths_are_octants() -> None:
    parts = eighths(6)
    assert sorted(parts.ravel().tolist()) == list(range(6**3))
    for number, part in enumerate(parts):
        assert {tuple(np.array(np.unravel_index(cell, (6, 6, 6))) // 3) for cell in part} == {
            (number >> 2, number >> 1 & 1, number & 1)
        }


def test_the_budget_keeps_photons() -> None:
    """If a discretization absorbs only 90 of 100 photons, rates are scaled up so that it absorbs all."""
    assert Budget(0.6, 0.2, 0.1, 0, 0, 0, 0, 0).right == pytest.approx(1 / 0.9)


def test_the_command_prints_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "argot.png"
    assert argot.main(["--ranks", "4", "--cells", "16", "--sources", "3", "--plot", str(picture)]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^by hubs +[\d.]+ ms$", said, re.M) and re.search(r"^bits +[0-9a-f]{16}$", said, re.M)
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--ranks 3", "3 ranks; they are 1, 2, 4 or 8"),
        ("--ranks 8 --cluster peach2-ring-4", "8 ranks; peach2-ring-4 has 4 nodes"),
        ("--cells 15", "15 cells along an edge; they are an even number"),
        ("--cells many", "invalid int value"),
        ("--sources 0", "0 sources"),
        ("--seed -1", "seed -1"),
        ("--opening nan", "an opening angle of nan"),
        ("--density 0", "a density of 0"),
        ("--plot argot.txt", "argot.txt is no picture"),
        ("--rank", "expected one argument"),
    ],
)
def test_bad_input_gets_a_line(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert argot.main(words.split()) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


@pytest.mark.long
def test_the_stroemgren_radius_on_64_cubed_cells() -> None:
    """Within 2 % of the analytic radius, with the same bits on 1, 4 and 8 ranks."""
    case = argot.problem(64, 1)
    states = {ranks: solve(case, HubSums(ranks)) for ranks in (1, 4, 8)}
    assert len({argot.digest(state) for state in states.values()}) == 1
    assert radius(case, states[8]) == pytest.approx(1, abs=0.02)
    assert np.abs(solve(case, serial).neutral - states[8].neutral).max() < 1e-4
