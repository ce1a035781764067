# SPDX-License-Identifier: Apache-2.0
"""The lattice-Boltzmann application: correct physics, the same bits over circuits and serial links as without a
network, and the predicted time."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from thalweg.errors import InputError
from thalweg.systems.vcsn import models
from thalweg.vcsn import Cluster

sys.path.insert(0, str(Path(__file__).parents[3] / "apps/lattice"))

import lattice  # noqa: E402
from d2q9 import DRIVEN, FLUID, OUTLET, SOLID, Flow, Populations, cylinder, equilibrium, moments, plain  # noqa: E402
from stream import CELL, DEPTH, Ring  # noqa: E402

VELOCITIES = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]


def drawn(draw: np.random.Generator, columns: int, rows: int) -> tuple[Flow, Populations]:
    """Cells of all kinds except in the first and the last column, which border on nothing, and fluid near rest."""
    kinds = draw.choice(4, (columns, rows), p=[0.7, 0.15, 0.1, 0.05]).astype(np.uint32)
    kinds[[0, -1]] = draw.choice([SOLID, DRIVEN], (2, rows))
    flow = Flow(kinds, draw.uniform(-0.1, 0.1), draw.uniform(0.5, 1.8))
    return flow, (flow.start() * draw.uniform(0.9, 1.1, (9, columns, rows))).astype(np.float32)


def by_cells(flow: Flow, f: Populations) -> np.ndarray:
    """A textbook step, cell by cell in double precision: it computes the destination of each population instead of its
    source."""
    columns, rows = flow.kinds.shape
    new = np.zeros((9, columns, rows))
    for x, y in np.ndindex(columns, rows):
        cell = f[:, x, y].astype(float)
        density, velocity = cell.sum(), np.array(VELOCITIES).T @ cell / cell.sum()
        if flow.kinds[x, y] == DRIVEN:
            density, velocity = 1.0, np.array([flow.speed, 0])
        for i, c in enumerate(VELOCITIES):
            weight = {0: 4 / 9, 1: 1 / 9, 2: 1 / 36}[abs(c[0]) + abs(c[1])]
            along = velocity @ c
            rest = weight * density * (1 + 3 * along + 4.5 * along**2 - 1.5 * velocity @ velocity)
            out = cell[i] + flow.omega * (rest - cell[i])
            if flow.kinds[x, y] == DRIVEN:
                out = rest
            if flow.kinds[x, y] == SOLID:
                out = cell[VELOCITIES.index((-c[0], -c[1]))]
            if 0 <= x + c[0] < columns:
                new[i, x + c[0], (y + c[1]) % rows] = out
    moved = new.copy()
    for x, y in np.argwhere(flow.kinds == OUTLET):
        new[:, x, y] = moved[:, x - 1, y]
    return new


def test_a_step_is_that_of_textbooks(seed: int) -> None:
    flow, f = drawn(np.random.default_rng(seed), 9, 11)
    np.testing.assert_allclose(plain(flow, f, 1), by_cells(flow, f), rtol=2e-5, atol=1e-6)


def test_a_shear_wave_decays_by_the_viscosity() -> None:
    """According to the Navier-Stokes equations. The ends do not affect the middle column in half as many steps as there
    are columns."""
    steps, rows, omega = 100, 32, 1.2
    kinds = np.full((2 * steps + 1, rows), FLUID, np.uint32)
    kinds[[0, -1]] = DRIVEN
    flow = Flow(kinds, 0, omega)
    wave = np.sin(2 * np.pi * np.arange(rows) / rows)
    ux = np.tile(np.float32(0.01 * wave), (2 * steps + 1, 1))
    found = moments(plain(flow, equilibrium(np.ones_like(ux), ux, 0 * ux), steps))[1][steps]
    viscosity = (1 / omega - 1 / 2) / 3
    decay = np.exp(-viscosity * (2 * np.pi / rows) ** 2 * steps)
    np.testing.assert_allclose(found, 0.01 * wave * decay, atol=1e-4 * decay)


@pytest.mark.parametrize("name", ["vcsn-d5005", "dcn-d5005"])
def test_networks_give_the_same_bits(name: str, seed: int) -> None:
    draw = np.random.default_rng([seed, len(name)])
    for fpgas in (1, 2, *draw.integers(3, 6, 2).tolist(), 16):
        steps, passes = draw.integers(1, 5, 2).tolist()
        flow, f = drawn(draw, int(draw.integers(1, 40)), 8 * int(draw.integers(1, 6)))
        outcome = Ring(Cluster.load(name), fpgas, steps).run(flow, f, passes)
        assert outcome.steps == fpgas * steps * passes
        expected = plain(flow, f, outcome.steps)
        assert np.isfinite(expected).all(), seed
        np.testing.assert_array_equal(outcome.f.view(np.uint32), expected.view(np.uint32), f"{seed} {fpgas} {steps}")


@pytest.mark.parametrize(
    ("name", "rate", "latency_ns", "frame_words", "received_us"),
    [
        ("vcsn-d5005", models.vcsn_rate(), 851.1, 143, 143 / 322.265625),
        ("dcn-d5005", models.dcn_rate(), 490.9, 62, 0),
    ],
)
@pytest.mark.parametrize("fpgas", [2, 6])
def test_a_pass_takes_what_it_must(
    name: str, rate: float, latency_ns: float, frame_words: int, received_us: float, fpgas: int
) -> None:
    """After two starts of engines: the lattice at the line's rate, and for each FPGA the latency of Table 1, a frame
    that is filled and accepted when it is whole, the columns that wait, and the pipelines."""
    columns, rows, steps = 400, 64, 2
    flow = cylinder(columns, rows)
    us = Ring(Cluster.load(name), fpgas, steps).run(flow, flow.start(), 1).us
    column = rows * CELL / rate * 1e6
    hop = latency_ns * 1e-3 + frame_words * 64 / rate * 1e6 + received_us
    assert us == pytest.approx(
        2 * 1.35 + columns * column + fpgas * (hop + (steps + 1) * column + DEPTH * steps / 250), rel=0.02
    )


def test_what_does_not_fit_is_refused() -> None:
    flow = cylinder(20, 20)
    with pytest.raises(InputError, match="17 FPGAs; vcsn-d5005 has 16"):
        Ring(Cluster.load("vcsn-d5005"), 17, 1)
    with pytest.raises(InputError, match="20 rows; a multiple of 8"):
        Ring(Cluster.load("vcsn-d5005"), 2, 1).run(flow, flow.start(), 1)


def test_the_command_prints_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture, plot = tmp_path / "flow.png", tmp_path / "scaling.png"
    words = f"--fpgas 1 2 --columns 40 24 --rows 24 --steps 2 --picture {picture} --plot {plot}"
    assert lattice.main(words.split()) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[3:]]
    assert [row[:4] for row in rows] == [
        [columns, name, fpgas, str(2 * int(fpgas))]
        for columns in ("40", "24")
        for name in ("vcsn-d5005", "dcn-d5005")
        for fpgas in "12"
    ]
    for columns, _, _, steps, us, updates, bound, *_ in rows:
        assert float(updates) == pytest.approx(int(columns) * 24 * int(steps) / float(us), rel=0.01)
        assert float(updates) < float(bound)
    # A word per cycle of 250 MHz for one FPGA, and Equations 1 and 2 for two.
    bounds = [2 * 16e9, 4 * models.vcsn_rate(), 2 * 16e9, 4 * models.dcn_rate()] * 2
    assert [float(row[6]) for row in rows] == pytest.approx([bound / 40 / 1e6 for bound in bounds], abs=1)
    assert picture.read_bytes().startswith(b"\x89PNG") and plot.read_bytes().startswith(b"\x89PNG")


def test_a_wrong_bit_ends_the_command_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        lattice, "plain", lambda flow, f, steps: np.nextafter(plain(flow, f, steps), 1, dtype=np.float32)
    )
    assert lattice.main(["--fpgas", "2", "--columns", "24", "--rows", "24", "--steps", "1"]) == 1
    assert "5184 populations differ from those of numpy on vcsn-d5005" in capsys.readouterr().err


def test_lost_frames_end_the_command_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    """40 pipelines of 100 cycles fill in 4,000 cycles, in which .78 words per cycle arrive; there is room for 2,688
    words. Serial links wait."""
    words = "--fpgas 3 --columns 100 --steps 40 --cluster"
    assert lattice.main([*words.split(), "dcn-d5005"]) == 0
    assert lattice.main([*words.split(), "vcsn-d5005"]) == 1
    assert "lattice: a column is not whole" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--fpgas 17", "17 FPGAs; vcsn-d5005 has 16"),
        ("--fpgas 0", "0 FPGAs"),
        ("--steps 0", "0 steps"),
        ("--passes 0", "0 passes"),
        ("--columns 8", "8 rows or columns"),
        ("--rows 20", "20 rows; a multiple of 8"),
        ("--rows many", "invalid int value"),
        ("--reynolds nan", "a Reynolds number of nan"),
        ("--cluster peach2", "peach2"),
        ("--cluster nothing", "nothing"),
        ("--plot flow.txt", "flow.txt is no picture"),
    ],
)
def test_bad_input_gets_a_line(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert lattice.main(words.split()) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


@pytest.mark.long
def test_vortices_shed_as_measured() -> None:
    """C. H. K. Williamson (Annual Review of Fluid Mechanics 28, 1996): a Strouhal number of .164 at a Reynolds number
    of 100 in an unbounded flow; with a cylinder of a ninth of the height, the flow beside it is up to 9/8 times as
    fast."""
    flow = cylinder(224, 88)
    f, across = flow.start(), []
    for _ in range(500):
        f = plain(flow, f, 20)
        across.append(float(moments(f)[2][100, 44]))
    late = np.array(across[250:])
    peak = np.fft.rfft(np.hanning(len(late)) * (late - late.mean()), 1 << 14)
    frequency = float(np.abs(peak).argmax()) / (1 << 14) / 20
    assert np.ptp(late) > 0.05
    assert 0.164 < frequency * (88 / 9) / flow.speed < 0.164 * 9 / 8
