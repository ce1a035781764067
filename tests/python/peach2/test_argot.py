# SPDX-License-Identifier: Apache-2.0
"""ARGOT on small problems: the analytic front, the same bits on any number of ranks, and the error of the oct-tree."""

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
import front  # noqa: E402
import radiation  # noqa: E402
import shares  # noqa: E402
from flow import Program, solve  # noqa: E402
from mesh import MAX_BOXES, Box, Division, box  # noqa: E402
from nodes import RANKS, Alone, HubNodes, Message, Nodes, ProcessorNodes  # noqa: E402
from octree import Group, seen, tree  # noqa: E402
from radiation import Light, Mesh, Rays  # noqa: E402
from thalweg.errors import CheckFailed  # noqa: E402


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


@pytest.mark.parametrize("density", [1e-3, 1.0, 1e3])
def test_the_analytic_front_is_that_in_one_dimension(density: float) -> None:
    """If the front is sharp, both its radii are Stroemgren's; with the density of Iliev et al., half of the hydrogen is
    ionized 5 % farther out."""
    found = front.analytic(density)
    assert found.volume == pytest.approx(in_one_dimension(density), rel=1e-3)
    assert (found.half == pytest.approx(1, abs=2e-3)) == (density > 1)
    assert (found.half > 1.05) == (density < 1)


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.parametrize(("cells", "sources"), [pytest.param(16, 1, marks=pytest.mark.long), (8, 4)])
def test_ranks_give_the_same_bits_and_one_box_the_same_state(cells: int, sources: int) -> None:
    case = argot.problem(cells, sources)
    ways: list[Nodes] = [HubNodes(ranks) for ranks in RANKS]
    states = [solve(case, nodes) for nodes in [*ways, ProcessorNodes(4)]]
    assert len({argot.digest(state) for state in states}) == 1
    alone = solve(case, Alone())
    assert np.abs(alone.neutral - states[0].neutral).max() < 1e-4
    np.testing.assert_allclose(alone.budgets[-1], states[0].budgets[-1], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("boxes", [2, 8, 32])
def test_rays_through_boxes_are_those_of_one_box(boxes: int, seed: int) -> None:
    """To the bit, through opacities and from sources at random."""
    n = 8
    draw = np.random.default_rng(seed)
    opacity = draw.uniform(0, 2, (n, n, n))
    case = argot.problem(n, 5, seed)
    parts = len(case.eighths)

    def lights(count: int) -> NDArray[np.float64]:
        alone = Alone()
        alone.gpus = count
        program = Program(case, alone)
        whole = np.empty((3, parts, n, n, n))
        found = program._lights([opacity[each.slices].ravel() for each in program.division.boxes])
        for each, of_box in zip(program.division.boxes, found, strict=True):
            whole[(..., *each.slices)] = np.reshape(of_box, (3, parts, *each.size))
        return whole

    assert lights(boxes).tobytes() == lights(1).tobytes()


@pytest.mark.parametrize("way", [HubNodes, ProcessorNodes])
@pytest.mark.parametrize("ranks", RANKS)
def test_nodes_sum_in_the_one_tree(ranks: int, way: type[Nodes], seed: int) -> None:
    """To the bit, for numbers whose sum depends on the order: cell by cell into eight partial sums, then repeated
    halving."""
    draw = np.random.default_rng(seed)
    records = (draw.standard_normal((32, 54, 8)) * 10.0 ** draw.integers(-6, 6, (32, 54, 1))).astype(np.float32)

    def halved(sums: NDArray[np.float32]) -> NDArray[np.float32]:
        while len(sums) > 1:
            sums = sums[: len(sums) // 2] + sums[len(sums) // 2 :]
        return sums[0]

    def sixteenth(cells: NDArray[np.float32]) -> NDArray[np.float32]:
        sums = cells[:8].copy()
        for first in range(8, len(cells), 8):
            part = cells[first : first + 8]
            sums[: len(part)] += part
        return halved(sums)

    expected = halved(np.stack([sixteenth(np.concatenate([records[k], records[k + 16]])) for k in range(16)]))
    nodes = way(ranks)
    of_gpus = [records[gpu :: nodes.gpus] for gpu in range(nodes.gpus)]
    for to_gpus in (True, False):
        assert nodes.total(of_gpus, to_gpus).tobytes() == expected.tobytes()
    assert nodes.times.reductions > 0


def test_time_is_not_below_what_the_bus_takes() -> None:
    """The bus moves 16 bytes per cycle at 150 MHz; each of the processor's four copies takes 10 us and its bytes."""
    records = np.zeros((32, 256, 8), np.float32)
    for ranks in (1, 4, 16):
        size = records.nbytes / ranks
        hubs, processors = HubNodes(ranks), ProcessorNodes(ranks)
        for nodes in (hubs, processors):
            nodes.total([records[gpu :: nodes.gpus] for gpu in range(nodes.gpus)], True)
        assert size / 2400 < hubs.times.reductions < size / 2400 + 16 / ranks * 10 + 10
        copied = 40 + size / 6000 + size / 12800  # and a store from each rank to the root, and back
        assert copied < processors.times.reductions < copied + 4 + 0.3 * ranks


def test_a_put_takes_as_long_as_its_way() -> None:
    """Between GPUs at least a read, two links and its bytes; with processors four starts of copies and more."""
    values = np.arange(1000, dtype=np.float32)
    for way, least in ((HubNodes, 0.8 + 4000 / 2800), (ProcessorNodes, 20 + 8000 / 6000)):
        nodes = way(2)
        (arrived,) = nodes.step([Message(source=0, target=1, side=0, values=values)], {1: 5000.0})
        assert arrived.tobytes() == values.tobytes()
        assert nodes.times.computation == 5.0
        assert least < nodes.times.puts < least + 5


@pytest.mark.parametrize("density", [1e-3, 1.0])
def test_the_front_is_the_analytic_one(density: float) -> None:
    """Its mean radius within 2 %, that of each of 200 directions within 3 %."""
    case = argot.problem(32, 1, density=density)
    state = solve(case, Alone())
    argot.check(case, state)
    volume = (1 - state.neutral).sum() * case.edge**3
    radius = (3 * volume / (4 * np.pi)) ** (1 / 3) / chemistry.stroemgren(density)
    assert radius == pytest.approx(in_one_dimension(density), rel=0.02)


@pytest.mark.parametrize("axis", range(3))
def test_rays_that_are_brighter_on_one_side_are_found(axis: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three times as bright on one side, the ionized volume is almost the same."""
    light = radiation.light

    def brighter(group: Group, ways: Rays, opacity: Mesh, of: Box, at: NDArray[np.int64], edge: int) -> Light:
        found = light(group, ways, opacity, of, at, edge)
        factor = np.where(of.cells[at][:, axis] > group.at[axis], 3.0, 1.0)
        return Light(found.through * factor, found.out * factor)

    monkeypatch.setattr(radiation, "light", brighter)
    case = argot.problem(32, 1)
    state = solve(case, Alone())
    volume = (1 - state.neutral).sum() * case.edge**3
    radius = (3 * volume / (4 * np.pi)) ** (1 / 3) / chemistry.stroemgren(case.density)
    assert radius == pytest.approx(in_one_dimension(case.density), rel=0.02)
    with pytest.raises(CheckFailed, match="not round"):
        argot.check(case, state)


def test_the_front_of_a_sphere_is_found() -> None:
    """Where a linear profile passes one half, in cells from a source that is not in the middle."""
    source = np.array([9, 11, 10])
    distance = np.linalg.norm(np.indices((24, 24, 24)).reshape(3, -1).T - source, axis=1).reshape(24, 24, 24)
    found = front.radii(np.clip(0.5 + (distance - 6.3) / 4, 0, 1), source)
    assert np.abs(found - 6.3).max() < 0.15
    assert (front.radii(np.zeros((24, 24, 24)), source) == 9).all()


@pytest.mark.long
def test_several_sources_ionize_as_much_as_they_give() -> None:
    """Recombinations per second equal the photons that do not escape: counted here over the mesh."""
    case = argot.problem(12, 10, density=1.0)
    state = solve(case, HubNodes(8))
    last = state.budgets[-1]
    recombined = ((1 - state.neutral) ** 2).sum() * case.edge**3 * chemistry.RECOMBINATION * case.density**2
    assert last.far > 0 and 0 < last.escaped < 0.3
    assert recombined / chemistry.PHOTONS == pytest.approx(1 - last.escaped, abs=2e-3)


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
    clear, whole = np.full(n**3, 1e-9), box(0, 1, n)
    for group, at in groups:
        ways = radiation.rays(clear, whole, radiation.source_of(group), {})
        found[at] += radiation.light(group, ways, clear, whole, at, n).through
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
    n, source = 12, np.array([3, 4, 5])

    def traced(opacity: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        ways = radiation.rays(opacity, box(0, 1, n), source, {})
        return ways.before.reshape(n, n, n), ways.path.reshape(n, n, n)

    before, path = traced(np.ones((n, n, n)))
    distance = np.linalg.norm(np.indices((n, n, n)).reshape(3, -1).T - source, axis=1).reshape(n, n, n)
    away = distance > 0
    np.testing.assert_allclose((before + path / 2)[away], distance[away], rtol=0.12)
    np.testing.assert_allclose(before[3, 4, 6:], np.arange(6 - 5.5, n - 5.5))
    wall = np.zeros((n, n, n))
    wall[7] = 2.0
    behind, _ = traced(wall)
    ahead = np.abs(np.indices((n, n, n))[1] - 4), np.abs(np.indices((n, n, n))[2] - 5)
    straight = (np.indices((n, n, n))[0] > 7) & (np.maximum(*ahead) < np.indices((n, n, n))[0] - 3)
    assert (behind[:7] == 0).all() and (behind[straight] >= 2).all()


@pytest.mark.parametrize("count", [1, 2, 4, 8, 16, 32])
def test_boxes_cover_the_mesh_once(count: int) -> None:
    division = Division.of(8, count)
    times = np.zeros((8, 8, 8), int)
    for number, each in enumerate(division.boxes):
        times[each.slices] += 1
        assert sorted(map(tuple, each.cells.tolist())) == sorted(map(tuple, np.argwhere(_inside(each, 8)).tolist()))
        finest = [box(part, MAX_BOXES, 8) for part in range(number, MAX_BOXES, count)]
        assert sum(_inside(part, 8).astype(int) for part in finest).tolist() == _inside(each, 8).astype(int).tolist()
    assert (times == 1).all()


def _inside(of: Box, edge: int) -> NDArray[np.bool_]:
    mask = np.zeros((edge,) * 3, bool)
    mask[of.slices] = True
    return mask


def test_the_command_prints_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "argot.png"
    assert argot.main(["--ranks", "4", "--cells", "16", "--sources", "3", "--plot", str(picture)]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^reductions +[\d.]+ us$", said, re.M) and re.search(r"^bits +[0-9a-f]{16}$", said, re.M)
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--ranks 3", "invalid choice: 3"),
        ("--ranks 8 --cluster peach2-ring-4", "8 ranks; peach2-ring-4 has 4 nodes"),
        ("--cells 18", "18 cells along an edge; they are a multiple of 4"),
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
def test_the_front_on_64_cubed_cells() -> None:
    """The same bits on 1, 4, 8 and 16 ranks, and the analytic front."""
    case = argot.problem(64, 1)
    states = {ranks: solve(case, HubNodes(ranks)) for ranks in (1, 4, 8, 16)}
    assert len({argot.digest(state) for state in states.values()}) == 1
    argot.check(case, states[16])
    assert np.abs(solve(case, Alone()).neutral - states[16].neutral).max() < 1e-4


def test_a_table_of_shares_has_no_head_without_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert shares.main(["--cluster", "peach2-ring-4"]) == 2
    assert capsys.readouterr() == ("", "shares: 16 ranks; peach2-ring-4 has 4 nodes\n")
