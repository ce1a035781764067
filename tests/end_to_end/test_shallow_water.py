# SPDX-License-Identifier: Apache-2.0
"""Does the shallow-water example conserve the quantities of its equations, on any number of boards, in the cycles of
the paper's model?"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bay import boards, mesh, model, operations, partition, timing
from bay.mesh import LAND, SEA, Mesh
from bay.model import Array, Parameters, Reference

pytest.importorskip("clang.cindex", reason="libclang is not installed")
pytest.importorskip("pymetis", reason="pymetis is not installed")


RUN = Path(partition.__file__).parents[1] / "run.py"
ULP = 2.0**-24  # half a unit in the last place of a float32, relative


def on_boards(of: Mesh, parts: int, state: Array, steps: int, parameters: Parameters | None = None) -> boards.Result:
    result = boards.simulate(partition.cut(of, parts), parameters or Parameters.of(of), state, steps)
    assert not result.lost
    return result


def reference(of: Mesh, state: Array, steps: int, parameters: Parameters | None = None) -> Reference:
    made = Reference(of, parameters or Parameters.of(of), state)
    made.run(steps)
    return made


def stirred(of: Mesh) -> Array:
    """A state in which every element has a different value."""
    state = model.hill(of)
    x, y = of.centres.T / 1e3
    state[:, 1], state[:, 2] = 0.4 * np.sin(x / 3) * np.cos(y / 2), 0.3 * np.cos(x / 5 + y / 3)
    return state


@pytest.mark.parametrize("made", [mesh.base, lambda: mesh.base().refined(3), lambda: mesh.basin(7, 5)])
def test_both_sides_of_an_edge_have_the_same(made: Callable[[], Mesh]) -> None:
    """Also, triangles are closed, and inside of their edges."""
    of = made()
    element, k = np.nonzero(of.neighbours >= 0)
    other = of.neighbours[element, k]
    back = of.neighbours[other] == element[:, None]
    assert (back.sum(axis=1) == 1).all()
    assert (of.edges[element, k] == of.edges[other, back.argmax(axis=1)]).all()
    assert (of.is_left[element, k] != of.is_left[other, back.argmax(axis=1)]).all()
    outward = np.where(of.is_left, 1, -1)[..., None] * of.edges[..., :2].astype(float) * of.edges[..., 2:3]
    middles = (of.points[of.triangles] + of.points[np.roll(of.triangles, -1, axis=1)]) / 2
    assert np.abs(outward.sum(axis=1)).max() < 1e-6 * of.edges[..., 2].max()
    assert ((outward * (middles - of.centres[:, None])).sum(axis=2) > 0).all()


def test_a_refined_mesh_covers_the_same_sea() -> None:
    of = mesh.base()
    finer = of.refined(5)
    assert len(finer) == 25 * len(of)
    assert finer.areas.min() > 0 and finer.areas.sum() == pytest.approx(of.areas.sum(), rel=1e-12)
    for kind in (LAND, SEA):
        assert (finer.neighbours == kind).sum() == 5 * (of.neighbours == kind).sum()


@pytest.mark.sample(2)
@pytest.mark.parametrize("of, parts", [(mesh.base(), 1), (mesh.base(), 4), (mesh.base(), 48), (mesh.basin(6, 5), 3)])
def test_kernels_compute_the_same_bits_as_numpy_on_any_number_of_boards(of: Mesh, parts: int) -> None:
    steps = 30
    expected = reference(of, stirred(of), steps).state
    assert not (expected == stirred(of)).all()
    got = on_boards(of, parts, stirred(of), steps).states[-1]
    assert got.tobytes() == expected.tobytes()


def test_states_on_the_way_do_not_depend_on_how_often_kernels_start() -> None:
    of = mesh.base()
    cut = partition.cut(of, 4)
    result = boards.simulate(cut, Parameters.of(of), stirred(of), 12, every=5)
    assert len(result.states) == 4
    for steps, state in zip((0, 5, 10, 12), result.states, strict=True):
        assert (state == reference(of, stirred(of), steps).state).all()


def test_water_at_rest_stays_at_rest_over_any_floor() -> None:
    """At each level: to the last bit."""
    of = mesh.base()
    for level in (0.0, 0.3):
        state = model.at_rest(of)
        state[:, 0] = level
        closed = Mesh(of.points, of.triangles, of.sea[:0])
        assert (reference(closed, state, 200).state == state).all()
        assert (on_boards(closed, 4, state, 20).states[-1] == state).all()


def rounding_m3(of: Mesh, steps: int, level: float) -> float:
    """Maximum change of a volume by rounding: each step an element's level by half a unit of its last place, up or
    down; five deviations."""
    return 5 * ULP * level * float(np.sqrt(steps * (of.areas**2).sum()))


def test_a_closed_basin_keeps_its_water() -> None:
    of, steps = mesh.basin(20, 12), 3000
    before = reference(of, model.hill(of), 0)
    after = reference(of, model.hill(of), steps)
    assert np.abs(after.state[:, 1:]).max() < np.abs(reference(of, model.hill(of), 50).state[:, 1:]).max()
    assert abs(after.volume_m3 - before.volume_m3) < rounding_m3(of, steps, 0.3)


def test_what_the_bay_gains_has_come_through_the_open_sea() -> None:
    of, steps = mesh.base(), 1000
    after = reference(of, model.at_rest(of), steps)
    assert after.volume_m3 > 1e8
    assert abs(after.volume_m3 - after.inflow_m3) < rounding_m3(of, steps, 1.0) + 1e-6 * after.volume_m3


@pytest.mark.long
def test_kernels_keep_the_water_of_a_closed_bay_for_10_000_steps() -> None:
    of, steps = mesh.base(), 10_000
    closed = Mesh(of.points, of.triangles, of.sea[:0])
    before, after = reference(closed, model.hill(of), 0), on_boards(closed, 4, model.hill(of), steps)
    volume = float((after.states[-1][:, 0].astype(float) * of.areas).sum())
    assert abs(volume - before.volume_m3) < rounding_m3(of, steps, 0.3)


def measured(triangles: int, parts: int, steps: int = 5) -> tuple[boards.Result, timing.Model]:
    of = mesh.bay(triangles)
    cut = partition.cut(of, parts)
    result = boards.simulate(cut, Parameters.of(of), model.at_rest(of), steps)
    return result, timing.model(cut, boards.DESIGNS["udp"])


@pytest.mark.sample(4)
@pytest.mark.parametrize("triangles, parts", [(6760, 1), (15_210, 3), (27_040, 4), (312_100, 48)])
def test_where_elements_hide_the_communication_a_step_takes_what_equation_2_says(triangles: int, parts: int) -> None:
    result, expected = measured(triangles, parts)
    assert expected.communication < expected.core
    assert result.cycles_a_step == pytest.approx(expected.equation_2, rel=0.05)
    assert result.stalled_share < 0.01
    if parts == 1:
        assert result.cycles_a_step == pytest.approx(expected.computed, abs=10)  # of loops, in few steps


@pytest.mark.parametrize("triangles, parts", [(1690, 4), (1690, 9), (6760, 16)])
def test_where_they_do_not_the_engines_commands_take_the_time(triangles: int, parts: int) -> None:
    result, expected = measured(triangles, parts, 20)
    assert expected.commands > expected.computed
    assert result.cycles_a_step == pytest.approx(expected.overlapped, rel=0.05)
    assert result.cycles_a_step < expected.equation_2
    assert result.stalled_share > 0.5


def test_over_tcp_it_is_the_same_at_its_own_clock() -> None:
    of, steps = mesh.bay(15_210), 5
    cut = partition.cut(of, 4, boards.DESIGNS["tcp"].elements)
    result = boards.simulate(cut, Parameters.of(of), stirred(of), steps, by="tcp")
    assert (result.states[-1] == reference(of, stirred(of), steps).state).all()
    expected = timing.model(cut, boards.DESIGNS["tcp"])
    assert expected.communication < expected.core
    assert result.cycles_a_step == pytest.approx(expected.equation_2, rel=0.05)


@pytest.mark.sample(4)
@pytest.mark.slow
def test_hosts_exchange_the_same_and_the_pipeline_stalls_for_as_long_as_the_paper_implies() -> None:
    """Its section 4.3: 1 - elements / (latency x clock), with partitions of 6,000 to 7,000 elements, and 100 to 120 us."""
    of, steps = mesh.bay(27_040), 5
    cut = partition.cut(of, 4)
    result = boards.simulate(cut, Parameters.of(of), stirred(of), steps, by="hosts")
    assert (result.states[-1] == reference(of, stirred(of), steps).state).all()
    expected = timing.model(cut, boards.DESIGNS["hosts"])
    assert 95 < expected.communication_us < 105
    assert result.cycles_a_step == pytest.approx(expected.equation_2, rel=0.05)
    assert 0.72 <= result.stalled_share <= 0.81


def test_more_servers_than_the_preset_has() -> None:
    of, steps = mesh.bay(1690), 2
    result = boards.simulate(partition.cut(of, 18), Parameters.of(of), stirred(of), steps, by="hosts")
    assert (result.states[-1] == reference(of, stirred(of), steps).state).all()


@pytest.mark.parametrize(
    ("halo", "step", "sequencer"),
    [
        pytest.param("on-chip", "nominal", "processor", marks=pytest.mark.long),
        ("reordered", "nominal", "processor"),
        ("reordered", "nominal", "hardware"),
        ("buffered", "engine", "processor"),
        ("reordered", "in-switch", "hardware"),
    ],
)
@pytest.mark.parametrize("parts", [1, 9])
def test_each_change_computes_the_same_bits(
    parts: int, halo: boards.Halo, step: boards.Step, sequencer: boards.Sequencer
) -> None:
    """In several starts of the kernels, whose messages must not be mixed up."""
    of, steps = mesh.base(), 14
    design = boards.DESIGNS["udp"].changed(halo, step, sequencer)
    result = boards.simulate(partition.cut(of, parts), Parameters.of(of), stirred(of), steps, by=design, every=5)
    expected = Reference(of, Parameters.of(of), stirred(of), adaptive=step != "nominal")
    expected.run(steps)
    assert not result.lost
    assert result.states[-1].tobytes() == expected.state.tobytes()
    assert result.time == float(expected.time)


def test_time_steps_are_as_long_as_the_fastest_wave_allows() -> None:
    """Each except the first: the waves' progress in a step is Courant's number, computed from the previous state."""
    of = mesh.base()
    parameters = Parameters.of(of)
    state = stirred(of)
    adaptive = Reference(of, parameters, state, adaptive=True)
    adaptive.run(1)
    speeds = np.hypot(state[:, 1], state[:, 2]) / (state[:, 0] + of.depths)
    slowest = parameters.step_s * float(adaptive.ratio) * (np.sqrt(9.81 * of.edges[..., 3].max()) + speeds.max() + 1)
    assert 0.5 < float(adaptive.ratio) < model.MAX_RATIO
    assert float(adaptive.ratio) > 1  # the nominal step is for water that moves with 1 m/s above the highest tide
    assert slowest < np.sqrt(of.areas.max())
    adaptive.run(2000)
    assert np.isfinite(adaptive.state).all() and np.abs(adaptive.state[:, 0]).max() < 1


def strong_scaling(halo: boards.Halo, sequencer: boards.Sequencer = "processor") -> tuple[float, timing.Model]:
    cut, of = partition.cut(mesh.bay(6760), 16), mesh.bay(6760)
    design = boards.DESIGNS["udp"].changed(halo, sequencer=sequencer)
    result = boards.simulate(cut, Parameters.of(of), model.at_rest(of), 10, by=design)
    return result.cycles_a_step, timing.model(cut, design)


def test_a_step_is_faster_without_receives_and_without_the_processor() -> None:
    """If the engine's commands dominate: with messages sent directly to kernels only send commands remain; hardware
    needs fewer cycles."""
    papers, _ = strong_scaling("buffered")
    reordered, expected = strong_scaling("reordered")
    assert expected.commands < reordered < 1.15 * expected.commands
    assert reordered < 0.6 * papers
    on_chip, _ = strong_scaling("on-chip")
    assert 0.95 * papers < on_chip <= papers  # the engine processes commands while memory answers
    by_hardware, expected = strong_scaling("reordered", "hardware")
    assert by_hardware < 0.75 * reordered
    assert by_hardware < 1.2 * expected.equation_2


def test_what_hosts_do_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="halo, step and sequencer need boards with ACCL's engine"):
        boards.DESIGNS["hosts"].changed("reordered")


def test_operations_are_those_of_the_arithmetic() -> None:
    """Counted in numpy's operations. For an edge's own pressure numpy doubles both sides', and the kernels one."""

    class Counted(np.ndarray):  # type: ignore[type-arg]
        operations = 0

        def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
            plain = [each.view(np.ndarray) if isinstance(each, Counted) else each for each in inputs]
            found = getattr(ufunc, method)(*plain, **options)
            counted = np.add, np.subtract, np.multiply, np.divide, np.sqrt, np.maximum
            if ufunc in counted and found.dtype == np.float32:
                Counted.operations += found.size
            return found.view(Counted) if isinstance(found, np.ndarray) else found

        def __array_function__(self, function: Any, types: Any, given: Any, options: Any) -> Any:
            found = super().__array_function__(function, types, given, options)
            return found.view(Counted) if isinstance(found, np.ndarray) else found

    of = mesh.base()
    of.__dict__["edges"] = of.edges.view(Counted)
    solver = Reference(of, Parameters.of(of), stirred(of))
    solver.state = solver.state.view(Counted)
    Counted.operations = 0
    solver.run(1)
    assert Counted.operations == (operations.flop() + 3) * len(of)


def test_pictures_are_drawn(tmp_path: Path) -> None:
    """Of the water, the partitions and the depth, and a film with a frame for each state."""
    Image = pytest.importorskip("PIL.Image")
    pictures = pytest.importorskip("bay.pictures", reason="matplotlib is not installed")
    of = mesh.base()
    states = [reference(of, stirred(of), steps).state for steps in (0, 20, 40)]
    pictures.water(of, states[-1], "water", tmp_path / "water.png")
    pictures.partitions(partition.cut(of, 4), tmp_path / "partitions.png")
    pictures.floor(of, tmp_path / "depth.png")
    pictures.film(of, states, str, tmp_path / "film.gif")
    for name in ("water", "partitions", "depth"):
        with Image.open(tmp_path / f"{name}.png") as image:
            assert image.width > 900 and len(image.convert("RGB").getcolors(2**20) or ()) > 50
    with Image.open(tmp_path / "film.gif") as film:
        assert film.n_frames == len(states)


def test_a_signal_ends_it_while_it_cuts_a_mesh() -> None:
    """METIS catches SIGTERM: a program with a time-out had partitions without elements, or did not end. Here the signal
    arrives in the middle, at all of its processes, as from coreutils' timeout."""
    program = f"""
import sys
sys.path.insert(0, {str(Path(partition.__file__).parents[1])!r})
from bay import mesh, partition
of = mesh.bay(27_040)
print("begins", flush=True)
while True:
    assert all(len(each.elements) for each in partition.cut(of, 48).partitions)
    print("cut", flush=True)
"""
    for after_s in (0.15, 0.25, 0.35):
        running = subprocess.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == "begins\n"
            time.sleep(after_s)
            os.killpg(running.pid, signal.SIGTERM)
            _, said = running.communicate(timeout=20)
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
        assert (running.returncode, said) == (-signal.SIGTERM, "")


def test_a_partition_that_no_board_holds_is_refused() -> None:
    with pytest.raises(ValueError, match="has 15210 elements and 0 of others, but a board holds 8192 and 2048"):
        partition.cut(mesh.bay(15_210), 1)
    with pytest.raises(ValueError, match="use fewer partitions"):
        partition.cut(mesh.basin(1, 1), 5)


@pytest.mark.parametrize(
    ("options", "hidden", "said"),
    [
        (["--pictures", __file__], "", f"'{__file__}' is a file"),
        (["--pictures", "somewhere"], "matplotlib", "--pictures and --film need matplotlib: "),
    ],
)
def test_the_command_refuses_what_it_cannot_draw(options: list[str], hidden: str, said: str) -> None:
    """Before it simulates."""
    hide = f"import importlib.util as u; f = u.find_spec; u.find_spec = lambda name: None if name == {hidden!r} else f(name)"
    program = (
        f"{hide}; import runpy, sys; sys.argv[1:] = {options!r}; runpy.run_path({str(RUN)!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=RUN.parent, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and "Traceback" not in done.stderr
