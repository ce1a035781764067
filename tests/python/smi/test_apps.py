# SPDX-License-Identifier: Apache-2.0
"""Do the paper's listings, the stencil and GESUMMV compute the results of plain programs, in the time that memory and
halos need?"""

from __future__ import annotations

import dataclasses
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from thalweg.cli import main
from thalweg.errors import InputError
from thalweg.systems.smi.cluster import Cluster

pytest.importorskip("clang.cindex", reason="libclang is not installed")
pytestmark = pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")

APPS = Path(__file__).parents[3] / "apps/smi"


def load(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"smi_{Path(path).stem}", APPS / path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


def with_links(name: str, **values: float) -> Cluster:
    cluster = Cluster.load(name)
    return dataclasses.replace(
        cluster, links={name: link.model_copy(update=values) for name, link in cluster.links.items()}
    )


stencil = load("stencil/stencil.py")
gesummv = load("gesummv/gesummv.py")


@pytest.mark.sample(3)
@pytest.mark.parametrize("name, ranks, checks", [("point_to_point", 2, 1), ("broadcast", 8, 8), ("stencil_halo", 8, 8)])
def test_listings(name: str, ranks: int, checks: int, capsys: pytest.CaptureFixture[str]) -> None:
    host = str(APPS / f"listings/{name}.toml")
    assert main(["smi", "run", "-n", str(ranks), "--cluster", "smi-noctua", "--host", host]) == 0
    out, err = capsys.readouterr()
    assert f"{checks} of {checks} checks passed" in out
    assert ("SMI_FLOAT, the variable is one of SMI_INT" in err) == (name == "broadcast")


@pytest.mark.parametrize("cluster", ["smi-noctua", "smi-noctua-bus"])
@pytest.mark.parametrize(
    "grid, banks, steps",
    [((1, 1), 1, 3), ((1, 1), 4, 2), ((2, 2), 1, 4), ((2, 2), 4, 1), ((2, 4), 4, 5), ((1, 8), 1, 3)],
)
def test_stencil(cluster: str, grid: tuple[int, int], banks: int, steps: int) -> None:
    points = np.random.default_rng(steps).random((12 * grid[0], 128 * grid[1]), dtype=np.float32)
    outcome = stencil.simulate(cluster, points, steps, grid, banks)
    assert np.array_equal(outcome.points, stencil.plain(points, steps))
    rows, columns = grid
    halos = 12 * 2 * (columns - 1) * rows + 128 * 2 * (rows - 1) * columns
    assert outcome.elements == 2 * halos * (steps - 1)


@pytest.mark.slow
def test_a_stencils_time_is_its_banks() -> None:
    node = Cluster.load("smi-noctua").node
    points = np.random.default_rng(1).random((512, 512), dtype=np.float32)
    outcomes = [stencil.simulate("smi-noctua", points, 2, *of) for of in [((1, 1), 1), ((1, 1), 4), ((2, 2), 1)]]
    # Read and written, each step. The bus turns around twice per KByte of both; a refresh stops it.
    each = 2048 / 19.2 + 1.67 + 2.5 + 14.16
    least_us = 2 * points.nbytes / 1024 * each / (1 - (350 + 2 * 14.16) / 7800) / 1e3
    assert node.bank_gb == 19.2
    assert outcomes[0].time_us == pytest.approx(least_us, rel=0.03)
    for other in outcomes[1:]:
        assert outcomes[0].time_us / other.time_us == pytest.approx(4, rel=0.1)


@pytest.mark.slow
def test_a_stencil_goes_on_where_links_are_slow() -> None:
    """Ranks drift apart until a halo of the next step waits behind one that is not needed yet."""
    points = np.random.default_rng(1).random((1024, 2048), dtype=np.float32)
    outcome = stencil.simulate(with_links("smi-noctua", gbit_s=1.0), points, 24, (2, 4), 4)
    assert np.array_equal(outcome.points, stencil.plain(points, 24))


def test_a_stencil_that_ranks_do_not_divide() -> None:
    with pytest.raises(InputError, match="1 x 3 ranks"):
        stencil.simulate("smi-noctua", np.zeros((16, 128), np.float32), 1, (1, 3))


@pytest.mark.parametrize(
    "command",
    [
        "stencil/stencil.py --size 1000 --grid 3x4",
        "stencil/stencil.py --grid 2y4",
        "stencil/stencil.py --steps 0",
        "stencil/stencil.py --cluster smi-noctuo",
        "gesummv/gesummv.py --columns 17",
        "gesummv/gesummv.py --rows 0",
        "public/run.py nowhere",
    ],
)
def test_wrong_options_are_one_line(command: str) -> None:
    file, *options = command.split()
    done = subprocess.run([sys.executable, APPS / file, *options], capture_output=True, text=True, check=False)
    wrong = [line for line in done.stderr.splitlines() if not line.startswith(("usage: ", " "))]
    assert (done.returncode, len(wrong)) == (2, 1), done.stderr


@pytest.mark.parametrize("rows, columns", [(512, 512), (64, 4096), (2048, 128)])
def test_gesummv(rows: int, columns: int) -> None:
    problem = gesummv.Problem.random(rows, columns)
    one, two = (gesummv.simulate("smi-noctua", problem, ranks) for ranks in (1, 2))
    assert np.array_equal(one.y, problem.plain(2)) and np.array_equal(two.y, problem.plain(4))
    node = Cluster.load("smi-noctua").node
    apart_us = two.time_us - one.time_us / 2  # a hop, and start and end
    assert 0 < apart_us < 1.6
    assert one.time_us > problem.a.nbytes / (2 * node.bank_gb * 1e3)
